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

func TestRestartSwapsUnderACallThatRuns(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	h := serve(t, dir)
	session := h.connect("", nil)
	lists(t, session, "echo_sleep", true)
	answered := make(chan error, 1)
	go func() {
		r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_sleep", Arguments: map[string]any{"ms": 4000}})
		if err == nil && r.IsError {
			err = fmt.Errorf("%+v", r.Content[0])
		}
		answered <- err
	}()
	eventually(t, "the call runs", func() error {
		if !strings.Contains(h.stderr.String(), "sleep begins") {
			return fmt.Errorf("the plugin has not said so")
		}
		return nil
	})
	before := h.adapters()["echo"].PID
	stdout, stderr, code := run(t, dir, "adapters", "restart", "echo", "--json")
	var a adapter
	if err := json.Unmarshal([]byte(stdout), &a); code != 0 || err != nil || a.State != "ready" || a.PID == before {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	isGone := gone(before) == nil
	select {
	case err := <-answered: // the machine is slow today; then there is nothing to see
		if err != nil {
			t.Errorf("the call: %v", err)
		}
	default:
		if isGone {
			t.Error("the old one is gone before its call has ended")
		}
		if err := <-answered; err != nil {
			t.Errorf("the call: %v", err)
		}
	}
	eventually(t, "the old one is gone", func() error { return gone(before) })
}

func TestRestartBringsBackWhatWasGivenUpAndSaysWhatFails(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "hello", plugins)
	works := filepath.Join(dir, "works")
	wrapped(t, plugins, "moody", "hello", `[ -e `+works+` ] && exec "${0%/*}/hello"; echo not today >&2; exit 3`)
	h := serve(t, dir)
	_, stderr, code := run(t, dir, "adapters", "restart", "moody")
	if code != 1 || !strings.Contains(stderr, "adapter moody was not restarted") || !strings.Contains(stderr, "not today") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if err := os.WriteFile(works, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, stderr, code := run(t, dir, "adapters", "restart", "moody")
	if a := h.adapters()["moody"]; code != 0 || !strings.Contains(stdout, "moody is ready") || a.State != "ready" {
		t.Errorf("exit %d: %s%s; it is %+v", code, stdout, stderr, a)
	}
	if _, stderr, code := run(t, dir, "adapters", "restart", "nobody"); code != 4 || !strings.Contains(stderr, `no adapter "nobody"`) {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestWithoutAHostThereIsNothingToRestart(t *testing.T) {
	t.Parallel()
	dir, _ := workspace(t, "")
	if _, stderr, code := run(t, dir, "adapters", "restart", "echo"); code != 3 || !strings.Contains(stderr, "no running host") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

// The interval of the health checks is that of the build that is made for tests.
func TestAPluginThatHangsIsNoticedEndedAndStartedAgain(t *testing.T) {
	t.Parallel()
	program := crashing()
	dir, plugins := workspace(t, "defaults: {additive: allow}\n")
	install(t, "echo", plugins)
	h := serveWith(t, dir, program)
	session := h.connect("", nil)
	lists(t, session, "echo_sleep", true)
	before := h.adapters()["echo"].PID
	if err := syscall.Kill(before, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_write_note", Arguments: map[string]any{"text": "x"}})
	says(t, r, err, "outcome_unknown", "adapter_unavailable") // it may have had its effects
	eventually(t, "a fresh one serves", func() error {
		if a := h.adapters()["echo"]; a.State != "ready" || a.PID == before {
			return fmt.Errorf("it is %+v", a)
		}
		return nil
	})
	if err := gone(before); err != nil {
		t.Error(err)
	}
	if !strings.Contains(h.stderr.String(), "health checks in a row") {
		t.Error("nobody is told why")
	}
	if r, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_count"}); err != nil || r.IsError {
		t.Errorf("the next call: %v, %+v", err, r)
	}
}
