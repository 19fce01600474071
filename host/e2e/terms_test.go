// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// shows waits until the operator sees something of a tool.
func (h *host) shows(tool, what string) {
	h.t.Helper()
	eventually(h.t, tool+" is "+what, func() error {
		if stdout, stderr, _ := run(h.t, h.dir, "tools", "show", tool, "--json"); !strings.Contains(stdout, what) {
			return fmt.Errorf("it is:\n%s%s", stdout, stderr)
		}
		return nil
	})
}

func TestTheOperatorsWordOnAToolHoldsFromTheNextCallOnAndMakesItsApprovalsStale(t *testing.T) {
	t.Parallel()
	dir, lines := approving(t, "http: {allow_anonymous: true, listen: \""+freePort(t)+"\"}\n")
	h := serve(t, dir)
	s := h.connect("", nil)
	lists(t, s, "echo_danger", true)
	pid := h.adapters()["echo"].PID
	h.rewrite(replaces("plugin: echo,", "plugin: echo, exclude: [danger, 'write_*'], tools: {append_line: {tags: [log]}},"))
	h.reloads(1)
	h.shows("echo_append_line", `"log"`)
	lists(t, s, "echo_danger", false)
	lists(t, s, "echo_write_note", false)
	_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_danger", Arguments: map[string]any{}})
	unknown(t, err, "echo_danger")

	const args = `{"line":"one","n":1}`
	r, err := appendLine(t, s, args, pending{})
	p := parked(t, r, err)
	decide(t, dir, "approve", p.approval)
	h.rewrite(replaces("{tags: [log]}", "{tags: [log], effects: destructive}"))
	h.reloads(2)
	h.shows("echo_append_line", `"effects": "destructive"`)
	r, err = appendLine(t, s, args, p)
	says(t, r, err, "approval_denied", "approval_stale")

	// Who excuses a tool is not asked any more; what is excluded is not there.
	h.rewrite(replaces("effects: destructive", "confirm: false"))
	h.reloads(3)
	h.shows("echo_append_line", `"needs_approval": false`)
	if r, err = appendLine(t, s, `{"line":"two","n":2}`, pending{}); err != nil || r.IsError {
		t.Errorf("an excused tool: %v %+v", err, r)
	}
	h.rewrite(replaces("exclude: [danger,", "include: ['e*'], exclude: [danger,"))
	h.reloads(4)
	eventually(t, "only what is included is there", func() error {
		_, err = appendLine(t, s, args, pending{})
		if err == nil {
			return errors.New("it is still there")
		}
		return nil
	})
	unknown(t, err, "echo_append_line")
	if got := ran(t, lines); len(got) != 1 || !strings.Contains(got[0], "two") {
		t.Errorf("ran: %q", got)
	}
	if now := h.adapters()["echo"].PID; now != pid {
		t.Errorf("the adapter was restarted: %d, was %d", now, pid)
	}
}
