// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// crashing is the host's program as it is built to be killed at a named point
// of a call.
var crashing = sync.OnceValue(func() string {
	out := filepath.Join(built, "crashing", "toolwharf")
	args := append([]string{"build", "-C", "..", "-tags", "crashpoints", "-o", out}, hostBuild("./cmd/toolwharf")...)
	if raw, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		panic(fmt.Sprintf("go %v: %v\n%s", args, err, raw))
	}
	return out
})

// mayHaveRun are the points of a resumed call at which its approval is spent.
var mayHaveRun = []string{"begun", "sent", "ended"}

func TestAHostThatIsKilledAtAnyPointOfAnApprovedCallNeverRunsItTwice(t *testing.T) {
	t.Parallel()
	program := crashing()
	for _, point := range []string{"judged", "begun", "sent", "ended"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			dir, lines := approving(t, "http: {allow_anonymous: true, listen: \""+freePort(t)+"\"}\n")
			h := serveWith(t, dir, program)
			s := h.connect("", nil)
			lists(t, s, "echo_append_line", true)
			r, err := appendLine(t, s, `{"line":"x","n":1}`, pending{})
			p := parked(t, r, err)
			decide(t, dir, "approve", p.approval)
			h.stop()

			doomed := serveWith(t, dir, program, "CRASH_AT="+point)
			s = doomed.connect("", nil)
			lists(t, s, "echo_append_line", true)
			if _, err := appendLine(t, s, `{"line":"x","n":1}`, p); err == nil {
				t.Fatal("the host was not killed")
			}
			eventually(t, "the host is gone", func() error { return gone(doomed.cmd.Process.Pid) })
			before := ran(t, lines)

			h = serveWith(t, dir, program)
			s = h.connect("", nil)
			lists(t, s, "echo_append_line", true)
			r, err = appendLine(t, s, `{"line":"x","n":1}`, p)
			if err != nil {
				t.Fatal(err)
			}
			after := ran(t, lines)
			if slices.Contains(mayHaveRun, point) {
				if !r.IsError || r.Meta["toolwharf/error_kind"] != "approval_denied" {
					t.Errorf("it may have run, and was taken again: %+v %q", r.Meta, textOf(r))
				}
				if !slices.Equal(before, after) {
					t.Errorf("it ran again: %q, then %q", before, after)
				}
			} else if r.IsError || len(before) != 0 || len(after) != 1 {
				t.Errorf("it was not sent, and is lost: %+v %q, ran %q then %q", r.Meta, textOf(r), before, after)
			}
			want := map[string]string{"judged": "ok", "begun": "unknown", "sent": "unknown", "ended": "ok"}[point]
			eventually(t, "the ledger says how it ended: "+want, func() error {
				stdout, _, _ := run(t, dir, "ledger", "tail", "--json", "-n", "0", "--tool", "echo_append_line")
				if n := strings.Count(stdout, fmt.Sprintf(`"outcome":%q`, want)); n != 1 {
					return fmt.Errorf("%d such rows in\n%s", n, stdout)
				}
				return nil
			})
			if stdout, stderr, code := run(t, dir, "ledger", "verify"); code != 0 {
				t.Errorf("ledger verify: exit %d: %s%s", code, stdout, stderr)
			}
		})
	}
}

func TestAHostThatIsKilledAfterItAskedHasAskedOnce(t *testing.T) {
	t.Parallel()
	program := crashing()
	dir, lines := approving(t, "http: {allow_anonymous: true, listen: \""+freePort(t)+"\"}\n")
	doomed := serveWith(t, dir, program, "CRASH_AT=asked")
	s := doomed.connect("", nil)
	lists(t, s, "echo_append_line", true)
	if _, err := appendLine(t, s, `{"line":"x","n":1}`, pending{}); err == nil {
		t.Fatal("the host was not killed")
	}
	eventually(t, "the host is gone", func() error { return gone(doomed.cmd.Process.Pid) })
	stdout, stderr, code := run(t, dir, "approvals", "list", "--json")
	if code != 0 || strings.Count(stdout, `"id": "apr_`) != 1 {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if got := ran(t, lines); len(got) != 0 {
		t.Errorf("ran %q", got)
	}
}

func TestAHostThatSleepsPastItsLeaseRunsNothingThatAnotherHasRun(t *testing.T) {
	t.Parallel()
	program := crashing()
	dir, lines := approving(t, "http: {allow_anonymous: true, listen: \""+freePort(t)+"\"}\n")
	h := serveWith(t, dir, program)
	s := h.connect("", nil)
	lists(t, s, "echo_append_line", true)
	r, err := appendLine(t, s, `{"line":"x","n":1}`, pending{})
	p := parked(t, r, err)
	decide(t, dir, "approve", p.approval)
	h.stop()

	sleeper := serveWith(t, dir, program, "STOP_AT=judged")
	asleep := sleeper.connect("", nil)
	lists(t, asleep, "echo_append_line", true)
	type answer struct {
		r   *mcp.CallToolResult
		err error
	}
	late := make(chan answer, 1)
	go func() {
		r, err := asleep.CallTool(t.Context(), resumed(p))
		late <- answer{r, err}
	}()
	eventually(t, "the host sleeps", func() error { return stopped(sleeper.cmd.Process.Pid) })

	other := serveOn(t, dir, program, freePort(t))
	s = other.connect("", nil)
	lists(t, s, "echo_append_line", true)
	if r, err := s.CallTool(t.Context(), resumed(p)); err != nil || r.IsError {
		t.Fatalf("the other host: %v %s", err, textOf(r))
	}
	if err := syscall.Kill(sleeper.cmd.Process.Pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if a := <-late; a.err != nil || !a.r.IsError || a.r.Meta["toolwharf/error_code"] != "approval_used" {
		t.Errorf("the one that slept: %v %+v", a.err, a.r)
	}
	if got, want := ran(t, lines), []string{"x 1"}; !slices.Equal(got, want) {
		t.Errorf("ran %q", got)
	}
	if stdout, stderr, code := run(t, dir, "ledger", "verify"); code != 0 {
		t.Errorf("ledger verify: exit %d: %s%s", code, stdout, stderr)
	}
}
