// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/ncruces/go-sqlite3"
)

func TestTwoStdioHostsAndTheCommandLineShareOneStore(t *testing.T) {
	t.Parallel()
	dir, lines := approving(t, "")
	one, two := overStdio(t, dir), overStdio(t, dir)
	r, err := one.CallTool(t.Context(), resumed(pending{}))
	p := parked(t, r, err)
	decide(t, dir, "approve", p.approval)
	if r, err := two.CallTool(t.Context(), resumed(p)); err != nil || r.IsError { // the same local user
		t.Errorf("at the other host: %v %s", err, textOf(r))
	}
	for i, s := range []*mcp.ClientSession{one, two, one, two} {
		if r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_count"}); err != nil || r.IsError {
			t.Errorf("call %d: %v %s", i, err, textOf(r))
		}
	}
	if got := ran(t, lines); len(got) != 1 {
		t.Errorf("ran %q", got)
	}
	eventually(t, "every call of both is in the ledger", func() error {
		stdout, _, _ := run(t, dir, "ledger", "tail", "--json", "-n", "0", "--tool", "echo_count")
		if n := strings.Count(stdout, "\n"); n != 4 {
			return fmt.Errorf("%d rows", n)
		}
		return nil
	})
	if stdout, stderr, code := run(t, dir, "ledger", "verify"); code != 0 {
		t.Errorf("ledger verify: exit %d: %s%s", code, stdout, stderr)
	}
}

func TestAnEffectIsRecordedOnceThoughTheStoreIsGoneWhenItEnds(t *testing.T) {
	t.Parallel()
	dir, lines := approving(t, "http: {allow_anonymous: true, listen: \""+freePort(t)+"\"}\nrules: [{allow: [echo_append_line]}]\n")
	h := serveWith(t, dir, crashing(), "STOP_AT=sent")
	s := h.connect("", nil)
	lists(t, s, "echo_append_line", true)
	type answer struct {
		r   *mcp.CallToolResult
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		r, err := s.CallTool(t.Context(), resumed(pending{}))
		answered <- answer{r, err}
	}()
	eventually(t, "the host sleeps after the effect", func() error { return stopped(h.cmd.Process.Pid) })

	// Somebody else holds the store, for longer than the host waits for it.
	db, err := sqlite3.Open(filepath.Join(dir, ".toolwharf", "toolwharf.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.Exec("PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(h.cmd.Process.Pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if a := <-answered; a.err != nil || a.r.IsError || a.r.Meta["toolwharf/recorded"] != false {
		t.Errorf("the call whose effect is not recorded yet: %v %+v", a.err, a.r)
	}
	r, err := appendLine(t, s, `{"line":"second","n":2}`, pending{})
	if err != nil || !r.IsError {
		t.Errorf("an effect began while another is not recorded: %v %s", err, textOf(r))
	}
	if got, want := ran(t, lines), []string{"x 1"}; !slices.Equal(got, want) {
		t.Errorf("ran %q", got)
	}
	if err := db.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "effects begin again", func() error {
		r, err := appendLine(t, s, `{"line":"third","n":3}`, pending{})
		if err != nil {
			return err
		}
		if r.IsError {
			return fmt.Errorf("%v %s", r.Meta, textOf(r))
		}
		return nil
	})
	eventually(t, "the effect is in the ledger once", func() error {
		stdout, _, _ := run(t, dir, "ledger", "tail", "--json", "-n", "0", "--tool", "echo_append_line", "--outcome", "ok")
		if n := strings.Count(stdout, "\n"); n != 2 {
			return fmt.Errorf("%d rows:\n%s", n, stdout)
		}
		return nil
	})
	if stdout, stderr, code := run(t, dir, "ledger", "verify"); code != 0 {
		t.Errorf("ledger verify: exit %d: %s%s", code, stdout, stderr)
	}
}
