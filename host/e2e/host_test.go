// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a condition may take to come true. It is no measure of
// speed: the machine may be busy.
const patience = time.Minute

// eventually waits until f returns nil.
func eventually(t *testing.T, what string, f func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: still not after %v: %v", what, patience, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// host is one running host.
type host struct {
	t      *testing.T
	cmd    *exec.Cmd
	dir    string // of toolwharf.yaml
	url    string // of the MCP endpoint
	base   string
	stderr *buffer
	done   chan error
}

// buffer is a bytes.Buffer that is safe for concurrent use.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// workspace makes a directory with a configuration and a plugin directory. YAML
// is appended to the usual lines.
func workspace(t *testing.T, yaml string) (dir, plugins string) {
	t.Helper()
	dir = t.TempDir()
	// As adapters of a root host have it that are users of their own.
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
	plugins = filepath.Join(dir, "plugins")
	if err := os.Mkdir(plugins, 0o755); err != nil {
		t.Fatal(err)
	}
	text := "plugins: {dirs: [plugins]}\n" + yaml
	if err := os.WriteFile(filepath.Join(dir, "toolwharf.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, plugins
}

// freePort returns an address that is the test's own until it ends, however often
// its hosts come and go: the socket that holds it does not listen, so a host may,
// and whoever asks for any port at all is given another one.
func freePort(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) // as a listener of Go has it
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	if err != nil {
		t.Fatal(err)
	}
	address, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	local, ok := address.(*unix.SockaddrInet4)
	if !ok {
		t.Fatalf("the address is %v", address)
	}
	return fmt.Sprintf("127.0.0.1:%d", local.Port)
}

// serve starts a host over HTTP and waits until it is ready.
func serve(t *testing.T, dir string) *host { return serveWith(t, dir, toolwharf) }

// listenLine is where a configuration says on which address the host serves.
var listenLine = regexp.MustCompile(`listen: "([^"]+)"`)

// serveWith starts a program as host, with more environment.
func serveWith(t *testing.T, dir, program string, env ...string) *host {
	t.Helper()
	file := filepath.Join(dir, "toolwharf.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !listenLine.Match(text) {
		text = append(text, []byte("\nhttp: {listen: \""+freePort(t)+"\"}\n")...)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return start(t, program, file, env)
}

// serveOn starts another host of the same configuration and state on another
// address.
func serveOn(t *testing.T, dir, program, address string) *host {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "toolwharf.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "other.yaml")
	text = listenLine.ReplaceAll(text, []byte(`listen: "`+address+`"`))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return start(t, program, file, nil)
}

func start(t *testing.T, program, file string, env []string) *host {
	t.Helper()
	h := launch(t, program, file, env)
	eventually(t, "the host is ready", func() error {
		select {
		case err := <-h.done:
			h.done <- err
			t.Fatalf("the host ended: %v\n%s", err, h.stderr)
		default:
		}
		return h.ready()
	})
	return h
}

// launch starts a host and does not wait for it.
func launch(t *testing.T, program, file string, env []string) *host {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	address := string(listenLine.FindSubmatch(text)[1])
	h := &host{
		t: t, dir: filepath.Dir(file), base: "http://" + address, url: "http://" + address + "/mcp",
		stderr: &buffer{}, done: make(chan error, 1),
	}
	h.cmd = exec.Command(program, "serve", "-c", file, "--log-level", "debug")
	h.cmd.Stderr = h.stderr
	h.cmd.Env = append(os.Environ(), env...)
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { h.done <- h.cmd.Wait() }()
	t.Cleanup(h.stop)
	return h
}

func (h *host) ready() error {
	resp, err := http.Get(h.base + "/readyz")
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// stop ends the host as an operator would, and fails the test if it does not
// end well.
func (h *host) stop() {
	h.t.Helper()
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	_ = h.cmd.Process.Signal(syscall.SIGCONT) // in case that it sleeps
	select {
	case err := <-h.done:
		h.done <- err
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() > 0 {
			h.t.Errorf("the host ended with %v\n%s", err, h.stderr)
		}
	case <-time.After(patience):
		_ = h.cmd.Process.Kill()
		h.t.Errorf("the host did not end on SIGTERM\n%s", h.stderr)
	}
	if h.t.Failed() {
		h.t.Logf("log of the host:\n%s", h.stderr)
	}
}

// logs waits for a line in the host's log, of a module or what is part of it.
func (h *host) logs(module, level, message, part string) {
	h.t.Helper()
	eventually(h.t, fmt.Sprintf("%s logs %s %q", module, level, message), func() error {
		for line := range strings.Lines(h.stderr.String()) {
			var entry struct {
				Level   string `json:"@level"`
				Message string `json:"@message"`
				Module  string `json:"@module"`
			}
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Level == level && entry.Message == message &&
				strings.HasPrefix(entry.Module, module) && strings.Contains(line, part) {
				return nil
			}
		}
		return errors.New("not yet")
	})
}

// run runs one command of the host's program and returns its exit code.
func run(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, toolwharf, args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("toolwharf %v: %v", args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// adapter is one adapter as `adapters list --json` has it.
type adapter struct {
	Name  string `json:"name"`
	State string `json:"state"`
	PID   int    `json:"pid"`
	Cause string `json:"cause"`
}

func (h *host) adapters() map[string]adapter {
	h.t.Helper()
	stdout, stderr, code := run(h.t, h.dir, "adapters", "list", "--json")
	if code != 0 {
		h.t.Fatalf("adapters list: exit %d: %s", code, stderr)
	}
	var list []adapter
	if err := json.Unmarshal([]byte(stdout), &list); err != nil {
		h.t.Fatal(err)
	}
	out := map[string]adapter{}
	for _, a := range list {
		out[a.Name] = a
	}
	return out
}

// stopped reports, as an error, that a process is not stopped.
func stopped(pid int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return err
	}
	if !strings.Contains(string(stat), ") T ") {
		return fmt.Errorf("process %d is not stopped: %.80s", pid, stat)
	}
	return nil
}

// gone reports, as an error, that a process is still there.
func gone(pid int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("process %d is there: %.80s", pid, stat)
}
