// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// structured is a call's structured content.
func structured(t *testing.T, r *mcp.CallToolResult, into any) {
	t.Helper()
	raw, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
}

func TestAfterSIGKILLOfThePluginTheHostServesOnAndTheNextCallWorks(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	install(t, "hello", plugins)
	h := serve(t, dir)
	session := h.connect("", nil)
	lists(t, session, "echo_count", true)
	for range 3 {
		before := h.adapters()["echo"].PID
		if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_count"})
		if err != nil || r.IsError {
			t.Fatalf("the next call: %v, %+v\n%s", err, r, h.stderr)
		}
		var out struct{ PID int }
		structured(t, r, &out)
		if out.PID == before {
			t.Errorf("the killed process %d answered", before)
		}
		eventually(t, "the killed process is reaped", func() error { return gone(before) })
	}
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "hello_greet", Arguments: map[string]any{"name": "Ada"}})
	if err != nil || r.IsError {
		t.Errorf("the other adapter: %v, %+v", err, r)
	}
}

func TestAfterSIGKILLOfTheHostNoPluginIsLeft(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	install(t, "hello", plugins)
	h := serve(t, dir)
	var pids []int
	for _, name := range []string{"echo", "hello"} {
		pid := h.adapters()[name].PID
		if pid == 0 || gone(pid) == nil {
			t.Fatalf("adapter %s has process %d", name, pid)
		}
		pids = append(pids, pid)
	}
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		eventually(t, "no orphan", func() error { return gone(pid) })
	}
	eventually(t, "no process of these plugins", func() error { return noneOf(plugins) })
}

// noneOf reports, as an error, a process whose executable lies beneath dir.
func noneOf(dir string) error {
	links, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		return err
	}
	for _, link := range links {
		if exe, err := os.Readlink(link); err == nil && strings.HasPrefix(exe, dir+"/") {
			return fmt.Errorf("%s is %s", link, exe)
		}
	}
	return nil
}

func TestOnSIGTERMACallThatRunsIsFinishedFirst(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	h := serve(t, dir)
	session := h.connect("", nil)
	lists(t, session, "echo_sleep", true)
	type answer struct {
		r   *mcp.CallToolResult
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_sleep", Arguments: map[string]any{"ms": 1500}})
		answered <- answer{r, err}
	}()
	eventually(t, "the call runs", func() error {
		if !strings.Contains(h.stderr.String(), "sleep begins") {
			return fmt.Errorf("the plugin has not said so")
		}
		return nil
	})
	_ = h.cmd.Process.Signal(syscall.SIGTERM)
	if a := <-answered; a.err != nil || a.r.IsError {
		t.Errorf("the call: %v, %+v", a.err, a.r)
	}
	h.stop()
	if err := noneOf(plugins); err != nil {
		t.Error(err)
	}
}
