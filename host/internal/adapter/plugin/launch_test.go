// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
)

// script is an executable of /bin/sh.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whatever an executable does in the place of a handshake, the operator reads
// what, and nothing of it is left.
func TestAScriptThatIsNoPluginSaysWhy(t *testing.T) {
	const certificate = "MIIBAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	for name, tc := range map[string]struct {
		body  string
		words []string
	}{
		"it ends at once": {
			`echo "cannot open /etc/orders" >&2; exit 7`,
			[]string{"it ended before the handshake (exit status 7)", "its last words: cannot open /etc/orders"},
		},
		"it ends without a word": {`exit 0`, []string{"it ended before the handshake (exit status 0)"}},
		"it is killed":           {`kill -9 $$`, []string{"it ended before the handshake (signal: killed)"}},
		"it prints something else": {
			`echo starting >&2; echo "Welcome to orders 2.0"; sleep 1000`,
			[]string{`the first line on stdout is "Welcome to orders 2.0", not the handshake`, "its last words: starting"},
		},
		"it prints an endless line": {
			`while :; do printf xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done`,
			[]string{`the first line on stdout is "xxxx`},
		},
		"it prints half a handshake": {`echo "1|1"; sleep 1000`, []string{"the handshake line has no certificate"}},
		"it speaks another version of go-plugin": {
			`echo "2|1|unix|/run/x.sock|grpc|` + certificate + `"; sleep 1000`,
			[]string{`the first line on stdout is "2|1|unix`, "not the handshake"},
		},
		"it speaks another version of Toolwharf": {
			`echo "1|2|unix|/run/x.sock|grpc|` + certificate + `"; sleep 1000`,
			[]string{"the handshake line is refused", "Plugin version: 2", "[1]"},
		},
		"it serves on a port": {
			`echo "1|1|tcp|127.0.0.1:4711|grpc|` + certificate + `"; sleep 1000`,
			[]string{`serves on tcp "127.0.0.1:4711"`, "only a unix socket"},
		},
		"it serves on a socket that there is not": {
			`echo "1|1|unix|$PLUGIN_UNIX_SOCKET_DIR/x.sock|grpc|` + certificate + `"; sleep 1000`,
			[]string{"there is no such socket"},
		},
		"it serves outside of its directory": {
			`echo "1|1|unix|/run/x.sock|grpc|` + certificate + `"; sleep 1000`,
			[]string{`serves on unix "/run/x.sock"`, "PLUGIN_UNIX_SOCKET_DIR"},
		},
		"it serves beside its directory": {
			`echo "1|1|unix|$PLUGIN_UNIX_SOCKET_DIR/../x.sock|grpc|` + certificate + `"; sleep 1000`,
			[]string{"/../x.sock", "PLUGIN_UNIX_SOCKET_DIR"},
		},
		"what it claims is a socket is a file": {
			`touch $PLUGIN_UNIX_SOCKET_DIR/x; echo "1|1|unix|$PLUGIN_UNIX_SOCKET_DIR/x|grpc|` + certificate + `"; sleep 1000`,
			[]string{"it is not a socket"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			d := desired(script(t, tc.body))
			d.Env = map[string]string{"PATH": "/usr/bin:/bin"}
			e := h.fails(d)
			if e.Phase != adapter.PhaseHandshake || e.Refused || e.Ended != strings.Contains(e.Reason, " ended ") {
				t.Errorf("phase %s, refused %v, ended %v: %s", e.Phase, e.Refused, e.Ended, e.Reason)
			}
			expectWords(t, e.Error(), tc.words...)
		})
	}
}

func TestAPluginThatHangsIsGivenUpAfterTheStartTimeout(t *testing.T) {
	for name, tc := range map[string]struct {
		desired func(*testing.T) *adapter.Desired
		phase   adapter.Phase
		words   []string
	}{
		"it prints nothing": {
			func(t *testing.T) *adapter.Desired {
				return desired(script(t, `echo waiting for the network >&2; exec sleep 1000`))
			},
			adapter.PhaseHandshake,
			[]string{"no handshake in time", "its last words: waiting for the network"},
		},
		"it prints half a line": {
			func(t *testing.T) *adapter.Desired { return desired(script(t, `printf '1|1|unix'; exec sleep 1000`)) },
			adapter.PhaseHandshake,
			[]string{`no connection in time after the handshake line "1|1|unix"`},
		},
		"it does not describe itself": {
			func(t *testing.T) *adapter.Desired { return acting(t, "slow to describe itself") },
			adapter.PhaseDescribe,
			[]string{"no answer in time"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			d := tc.desired(t)
			d.Limits.StartTimeout = time.Second
			e := h.fails(d)
			if e.Phase != tc.phase || e.Refused {
				t.Errorf("phase %s, refused %v", e.Phase, e.Refused)
			}
			expectWords(t, e.Error(), tc.words...)
		})
	}
}

func TestAStartEndsWithItsContext(t *testing.T) {
	h := newHarness(t)
	path := script(t, `exec sleep 1000`)
	for range 10 { // also before the process has begun
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() {
			_, err := h.Start(ctx, desired(path))
			over <- err
		}()
		cancel()
		select {
		case err := <-over:
			if err == nil {
				t.Fatal("it has started")
			}
		case <-time.After(bound / 2): // the start timeout is bound
			t.Fatal("the start goes on")
		}
		h.expectNothingLeft()
	}
}

func TestWhatCannotBeExecutedSaysWhy(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, []byte("no program\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := script(t, "")
	if err := os.WriteFile(wrong, []byte("#!/no/such/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		change func(*adapter.Desired)
		words  []string
	}{
		"it is not there":         {func(d *adapter.Desired) { d.Program.Path = plain + "x" }, []string{"no such file"}},
		"it is no executable":     {func(d *adapter.Desired) { d.Program.Path = plain }, []string{"permission denied"}},
		"it has no interpreter":   {func(d *adapter.Desired) { d.Program.Path = wrong }, []string{"no such file"}},
		"it has no directory":     {func(d *adapter.Desired) { d.Dir = plain + "x" }, []string{"no such file"}},
		"it may not set LD_*":     {func(d *adapter.Desired) { d.Env = map[string]string{"LD_PRELOAD": "x.so"} }, []string{"LD_PRELOAD may not be set"}},
		"it may not set PLUGIN_*": {func(d *adapter.Desired) { d.Env = map[string]string{"PLUGIN_X": "1"} }, []string{"PLUGIN_X may not be set"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := desired(echo)
			tc.change(d)
			e := newHarness(t).fails(d)
			if e.Phase != adapter.PhaseLaunch {
				t.Errorf("phase %s", e.Phase)
			}
			expectWords(t, e.Error(), append(tc.words, "cannot be executed")...)
		})
	}
}

// A plugin that shakes hands but is not what it says.
func TestAPluginThatBreaksTheHandshakeSaysHow(t *testing.T) {
	for as, tc := range map[string]struct {
		phase adapter.Phase
		words []string
	}{
		"without a certificate":     {adapter.PhaseHandshake, []string{"no certificate; mutual TLS is obligatory"}},
		"with an empty certificate": {adapter.PhaseHandshake, []string{"no certificate; mutual TLS is obligatory"}},
		"with half a certificate":   {adapter.PhaseHandshake, []string{"the handshake line is refused", "cert"}},
		"with another certificate":  {adapter.PhaseDescribe, []string{"certificate", "x509"}},
		"without TLS":               {adapter.PhaseDescribe, []string{"tls"}},
		"in net/rpc":                {adapter.PhaseHandshake, []string{"the handshake line is refused", `unsupported plugin protocol "netrpc"`}},
		"for version 2":             {adapter.PhaseHandshake, []string{"the handshake line is refused", "Plugin version: 2"}},
		"in tcp":                    {adapter.PhaseHandshake, []string{"only a unix socket"}},
		"elsewhere":                 {adapter.PhaseHandshake, []string{"PLUGIN_UNIX_SOCKET_DIR"}},
		"without a service":         {adapter.PhaseDescribe, []string{"Unimplemented", "toolwharf.plugin.v1.PluginService"}},
	} {
		t.Run(as, func(t *testing.T) {
			e := newHarness(t).fails(acting(t, as))
			if e.Phase != tc.phase || e.Refused {
				t.Errorf("phase %s, refused %v", e.Phase, e.Refused)
			}
			expectWords(t, e.Error(), tc.words...)
		})
	}
}
