// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package toolwharf

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/protobuf/types/known/emptypb"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

func TestServeStandaloneServesThisUserWithoutAHost(t *testing.T) {
	dir, err := os.MkdirTemp("", "tws")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	cmd := exec.Command(os.Args[0], "serve-standalone", path, "--config", `{"greeting":"Ahoy"}`)
	stderr := newLogBuffer()
	cmd.Env, cmd.Stderr = []string{testPlugin + "=harbour", "GORACE=atexit_sleep_ms=0"}, stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	stderr.wait(t, "serves toolwharf.plugin.v1 on "+path, "it is configured")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v %v", info, err)
	}
	conn := connect(t, "unix", path, nil)
	m := &moored{nil, conn, pluginv1.NewPluginServiceClient(conn), pluginv1.NewToolServiceClient(conn)}
	if got := m.call(t, "greet", `{"name":"Ada"}`); !strings.Contains(string(got.result.GetStructured()), "Ahoy, Ada!") {
		t.Errorf("got %v", got)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v\n%s", err, stderr)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error("the socket was left behind")
	}
}

func TestServeStandaloneSaysWhyNot(t *testing.T) {
	for _, c := range []struct {
		plugin *Plugin[None]
		args   []string
		want   string
	}{
		{hello(), []string{"serve-standalone", "/nowhere/s"}, "no such file or directory"},
		{hello(), []string{"serve-standalone"}, "unknown command"},
		{demanding(), []string{"serve-standalone", "/nowhere/s", "--config", `{"key":1}`}, "--config: "},
	} {
		if code, _, err := byHand(t, c.plugin, "", c.args...); code == 0 || !strings.Contains(err, c.want) {
			t.Errorf("%q: exit code %d, %s", c.args, code, err)
		}
	}
}

func TestServeOnRefusesAPluginThatIsNotRight(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := wrongPlugin().ServeOn(t.Context(), l, Standalone{}); err == nil || !strings.Contains(err.Error(), `tool "twice": added twice`) {
		t.Errorf("got %v", err)
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is still open")
	}
}

func TestServeOnEndsWithItsContextOrByShutdown(t *testing.T) {
	for _, how := range []string{"context", "shutdown"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- hello().ServeOn(ctx, l, Standalone{}) }()
		conn := connect(t, "tcp", l.Addr().String(), nil)
		if _, err := pluginv1.NewPluginServiceClient(conn).Describe(ctx, new(pluginv1.DescribeRequest)); err != nil {
			t.Fatal(err)
		}
		if how == "context" {
			cancel()
		} else if err := conn.Invoke(ctx, shutdownMethod, new(emptypb.Empty), new(emptypb.Empty)); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Errorf("%s: %v", how, err)
		}
		cancel()
	}
}

// What a configuration brings is described where the configuration is known.
func TestDescribeByHandOpensWhatMayBringSomething(t *testing.T) {
	closed := make(chan string, 2)
	p := New(Info{Name: "brings"}, func(ctx context.Context, c struct {
		Name string `json:"name"`
	},
	) (*ship, error) {
		return &ship{name: c.Name, closed: closed}, CatalogOf[ship](ctx).Change(func(ch *Changes[ship]) {
			AddFunc(ch, c.Name, func(context.Context, struct{}) (string, error) { return "aye", nil })
			AddTemplateFunc(ch, "r:{id}", "r", func(_ context.Context, in struct {
				ID string `json:"id"`
			},
			) (string, error) {
				return in.ID, nil
			})
			AddPromptFunc(ch, "p", func(context.Context, struct {
				A string `json:"a" jsonschema:"what"`
			},
			) (string, error) {
				return "x", nil
			})
		})
	}, Offers(FeatureTools, FeatureResources, FeaturePrompts))
	code, out, errs := byHand(t, p, "", "describe", "--config", `{"name":"argo"}`)
	var got struct {
		Tools     []struct{ Name string }
		Templates []struct {
			URITemplate string `json:"uri_template"`
		} `json:"resource_templates"`
		Prompts []struct {
			Arguments []struct{ Description string }
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || got.Tools[0].Name != "argo" || got.Templates[0].URITemplate != "r:{id}" ||
		got.Prompts[0].Arguments[0].Description != "what" || <-closed != "argo" {
		t.Errorf("exit code %d, %v, %s %s", code, err, out, errs)
	}
	if code, out, errs := byHand(t, p, "", "call", "argo", "--config", `{"name":"argo"}`); code != 0 || out != "\"aye\"\n" {
		t.Errorf("exit code %d, %s %s", code, out, errs)
	}
	if code, out, errs := byHand(t, p, "", "read", "r:7", "--config", `{"name":"argo"}`); code != 0 || out != "7\n" {
		t.Errorf("exit code %d, %s %s", code, out, errs)
	}
}
