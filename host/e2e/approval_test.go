// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// approving is a configuration whose additive and destructive tools wait for an
// operator, with a tool that leaves a line in a file for each time it runs.
func approving(t *testing.T, more string) (dir, lines string) {
	t.Helper()
	dir, plugins := workspace(t, more)
	install(t, "echo", plugins)
	lines = filepath.Join(dir, "lines")
	empty(t, lines)
	file := filepath.Join(dir, "toolwharf.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, fmt.Sprintf("\nadapters: {echo: {plugin: echo, env: {ECHO_FILE: %q}, sandbox: {allow: {write: [lines]}}}}\n", lines)...)
	if !strings.Contains(more, "approval:") {
		text = append(text, "approval: deferred\n"...)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, lines
}

// ran returns what the tool has left.
func ran(t *testing.T, lines string) []string {
	t.Helper()
	raw, err := os.ReadFile(lines)
	if len(raw) == 0 && err == nil {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n")
}

// pending is what a parked call says.
type pending struct{ approval, run, call string }

func parked(t *testing.T, r *mcp.CallToolResult, err error) pending {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if !r.IsError || r.Meta["toolwharf/error_kind"] != "approval_pending" {
		t.Fatalf("not pending: %+v %s", r.Meta, textOf(r))
	}
	text := func(key string) string { s, _ := r.Meta["toolwharf/"+key].(string); return s }
	p := pending{text("approval_id"), text("run_id"), text("call_id")}
	if got := textOf(r); got != "approval required: "+p.approval {
		t.Errorf("text is %q", got)
	}
	return p
}

func textOf(r *mcp.CallToolResult) string {
	if len(r.Content) == 0 {
		return ""
	}
	t, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		return ""
	}
	return t.Text
}

func appendLine(t *testing.T, s *mcp.ClientSession, args string, p pending) (*mcp.CallToolResult, error) {
	t.Helper()
	params := resumed(p)
	params.Arguments = json.RawMessage(args)
	return s.CallTool(t.Context(), params)
}

// resumed is the call of the crash tests, with its keys.
func resumed(p pending) *mcp.CallToolParams {
	params := &mcp.CallToolParams{Name: "echo_append_line", Arguments: json.RawMessage(`{"line":"x","n":1}`)}
	if p.call != "" {
		params.Meta = mcp.Meta{"toolwharf/run_id": p.run, "toolwharf/call_id": p.call}
	}
	return params
}

func decide(t *testing.T, dir, verb, id string, more ...string) {
	t.Helper()
	stdout, stderr, code := run(t, dir, append([]string{"approvals", verb, id}, more...)...)
	if code != 0 {
		t.Fatalf("approvals %s: exit %d: %s%s", verb, code, stdout, stderr)
	}
}

// says fails the test unless the call was refused with a kind and code.
func says(t *testing.T, r *mcp.CallToolResult, err error, kind, code string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if !r.IsError || r.Meta["toolwharf/error_kind"] != kind || r.Meta["toolwharf/error_code"] != code {
		t.Errorf("want %s %s, got %+v %q", kind, code, r.Meta, textOf(r))
	}
}

func TestAnApprovedCallRunsOnceAndAChangedDeniedOrUsedOneNever(t *testing.T) {
	t.Parallel()
	dir, lines := approving(t, "http: {allow_anonymous: true, listen: \""+freePort(t)+"\"}\n")
	h := serve(t, dir)
	s := h.connect("", nil)
	lists(t, s, "echo_append_line", true)
	const asked = `{"line":"one","n":9007199254740993}`

	r, err := appendLine(t, s, asked, pending{})
	p := parked(t, r, err)
	r, err = appendLine(t, s, asked, p)
	if again := parked(t, r, err); again != p {
		t.Errorf("undecided: %+v, then %+v", p, again)
	}
	decide(t, dir, "approve", p.approval)

	r, err = appendLine(t, s, `{"line":"one","n":9007199254740992}`, p)
	says(t, r, err, "approval_denied", "approval_mismatch")
	r, err = appendLine(t, s, asked, pending{p.approval, "another", p.call})
	says(t, r, err, "approval_denied", "approval_mismatch")
	r, err = appendLine(t, s, `{ "n": 9007199254740993.0, "line": "\u006fne" }`, p) // another spelling of the same
	if err != nil || r.IsError {
		t.Fatalf("resume: %v %s", err, textOf(r))
	}
	r, err = appendLine(t, s, asked, p)
	says(t, r, err, "approval_denied", "approval_used")
	if got, want := ran(t, lines), []string{"one 9007199254740993"}; !slices.Equal(got, want) {
		t.Errorf("ran %q", got)
	}

	r, err = appendLine(t, s, `{"line":"two","n":2}`, pending{})
	p = parked(t, r, err)
	decide(t, dir, "deny", p.approval, "--reason", "not today")
	r, err = appendLine(t, s, `{"line":"two","n":2}`, p)
	says(t, r, err, "approval_denied", "approval_declined")
	if !strings.Contains(textOf(r), "not today") {
		t.Errorf("the reason is not told: %q", textOf(r))
	}

	r, err = appendLine(t, s, `{"line":"three","n":3}`, pending{})
	p = parked(t, r, err)
	decide(t, dir, "approve", p.approval, "--args", `{"line":"edited","n":3}`)
	if r, err = appendLine(t, s, `{"line":"three","n":3}`, p); err != nil || r.IsError {
		t.Fatalf("edited: %v %s", err, textOf(r))
	}
	r, err = appendLine(t, s, `{"line":"four","n":4}`, pending{})
	p = parked(t, r, err)
	if _, stderr, code := run(t, dir, "approvals", "approve", p.approval, "--args", `{"line":4}`); code != 1 || !strings.Contains(stderr, "edited arguments") {
		t.Errorf("arguments that do not fit: exit %d: %s", code, stderr)
	}
	r, err = appendLine(t, s, `{"line":"four","n":4}`, p)
	if again := parked(t, r, err); again != p {
		t.Errorf("after a decision that was none: %+v, then %+v", p, again)
	}

	r, err = appendLine(t, s, `{"line":"five","n":5}`, pending{"", "no", "such"})
	if fresh := parked(t, r, err); fresh.call == "such" {
		t.Error("a key that names nothing became the call's")
	}
	if got, want := ran(t, lines), []string{"one 9007199254740993", "edited 3"}; !slices.Equal(got, want) {
		t.Errorf("ran %q", got)
	}
	stdout, stderr, code := run(t, dir, "ledger", "verify")
	if code != 0 {
		t.Errorf("ledger verify: exit %d: %s%s", code, stdout, stderr)
	}
	stdout, _, _ = run(t, dir, "ledger", "tail", "--json", "-n", "0")
	for _, part := range []string{`"outcome":"approved"`, `"outcome":"denied"`, `"decided_by":"operator/`, p.approval} {
		if !strings.Contains(stdout, part) {
			t.Errorf("the ledger lacks %s:\n%s", part, stdout)
		}
	}
}

func TestAPendingCallSurvivesARestartAndIsStaleOnceItsToolHasChanged(t *testing.T) {
	t.Parallel()
	dir, lines := approving(t, "http: {allow_anonymous: true, listen: \""+freePort(t)+"\"}\n")
	h := serve(t, dir)
	s := h.connect("", nil)
	lists(t, s, "echo_append_line", true)
	r, err := appendLine(t, s, `{"line":"a","n":1}`, pending{})
	survives := parked(t, r, err)
	r, err = appendLine(t, s, `{"line":"b","n":2}`, pending{})
	stale := parked(t, r, err)
	r, err = appendLine(t, s, `{"line":"c","n":3}`, pending{})
	edited := parked(t, r, err)
	h.stop()

	decide(t, dir, "approve", survives.approval) // no host runs
	decide(t, dir, "approve", stale.approval)
	decide(t, dir, "approve", edited.approval, "--args", `{"line":4}`) // so nobody can say that they do not fit
	h = serve(t, dir)
	s = h.connect("", nil)
	lists(t, s, "echo_append_line", true)
	r, err = appendLine(t, s, `{"line":"c","n":3}`, edited)
	says(t, r, err, "args_invalid", "invalid_args") // edits are judged as anything else
	if r, err = appendLine(t, s, `{"line":"a","n":1}`, survives); err != nil || r.IsError {
		t.Fatalf("resume: %v %s", err, textOf(r))
	}
	h.stop()

	file := filepath.Join(dir, "toolwharf.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "ECHO_FILE:", "ECHO_MORE: x, ECHO_FILE:", 1)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	h = serve(t, dir)
	s = h.connect("", nil)
	lists(t, s, "echo_append_line", true)
	r, err = appendLine(t, s, `{"line":"b","n":2}`, stale)
	says(t, r, err, "approval_denied", "approval_stale")
	if got, want := ran(t, lines), []string{"a 1"}; !slices.Equal(got, want) {
		t.Errorf("ran %q", got)
	}
}

func TestAnApprovalIsGoodForItsTimeOnly(t *testing.T) {
	t.Parallel()
	dir, lines := approving(t, "http: {allow_anonymous: true, listen: \""+freePort(t)+"\"}\napproval: {mode: deferred, expires: 2s}\n")
	h := serve(t, dir)
	s := h.connect("", nil)
	lists(t, s, "echo_append_line", true)
	r, err := appendLine(t, s, `{"line":"a","n":1}`, pending{})
	p := parked(t, r, err)
	if id := onlyOne(t, dir, "expired"); id != p.approval {
		t.Errorf("expired is %s, asked for %s", id, p.approval)
	}
	if _, stderr, code := run(t, dir, "approvals", "approve", p.approval); code != 1 || !strings.Contains(stderr, "expired") {
		t.Errorf("approving it: exit %d: %s", code, stderr)
	}
	r, err = appendLine(t, s, `{"line":"a","n":1}`, p)
	says(t, r, err, "approval_denied", "approval_expired")
	if got := ran(t, lines); len(got) != 0 {
		t.Errorf("ran %q", got)
	}
}

func TestARuleThatDeniesWinsOverAnApproval(t *testing.T) {
	t.Parallel()
	dir, lines := approving(t, "http: {allow_anonymous: true, listen: \""+freePort(t)+"\"}\n")
	h := serve(t, dir)
	s := h.connect("", nil)
	lists(t, s, "echo_append_line", true)
	r, err := appendLine(t, s, `{"line":"a","n":1}`, pending{})
	p := parked(t, r, err)
	decide(t, dir, "approve", p.approval)
	h.stop()
	f, err := os.OpenFile(filepath.Join(dir, "toolwharf.yaml"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("rules: [{deny: [echo_append_*]}]\n")
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	h = serve(t, dir)
	s = h.connect("", nil)
	lists(t, s, "echo_count", true)
	_, err = appendLine(t, s, `{"line":"a","n":1}`, p)
	unknown(t, err, "echo_append_line") // what is denied is hidden
	if got := ran(t, lines); len(got) != 0 {
		t.Errorf("ran %q", got)
	}
}

func TestTheOperatorsOwnCallIsApprovedWhereItIsTyped(t *testing.T) {
	t.Parallel()
	dir, lines := approving(t, "")
	_, stderr, code := run(t, dir, "tools", "call", "echo_append_line", "--args", `{"line":"x","n":1}`)
	if code != 1 || !strings.Contains(stderr, "needs approval") {
		t.Errorf("without --yes: exit %d: %s", code, stderr)
	}
	if stdout, stderr, code := run(t, dir, "tools", "call", "echo_append_line", "--args", `{"line":"x","n":1}`, "--yes"); code != 0 {
		t.Errorf("with --yes: exit %d: %s%s", code, stdout, stderr)
	}
	if got, want := ran(t, lines), []string{"x 1"}; !slices.Equal(got, want) {
		t.Errorf("ran %q", got)
	}
}
