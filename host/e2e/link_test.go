// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// opens makes a call as a client that can open links.
func (h *host) opens(t *testing.T, with headers, params string) map[string]json.RawMessage {
	t.Helper()
	headers, body := modern(1, "tools/call", "echo_append_line", `"name":"echo_append_line","arguments":{"line":"x","n":1}`+params)
	maps.Copy(headers, with)
	m := h.rpc(t, headers, strings.Replace(body, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{"url":{}}}`, 1))
	var result map[string]json.RawMessage
	if m["result"] == nil {
		return map[string]json.RawMessage{"error": m["error"]}
	}
	if err := json.Unmarshal(m["result"], &result); err != nil {
		t.Fatal(err)
	}
	return result
}

// linkOf is where a result sends the client's user, and how the client comes back.
func linkOf(t *testing.T, result map[string]json.RawMessage) (url, state string) {
	t.Helper()
	var requests map[string]struct {
		Method string
		Params struct{ Mode, URL, Message string }
	}
	if err := json.Unmarshal(result["inputRequests"], &requests); err != nil {
		t.Fatalf("%v: %s", err, result)
	}
	r := requests["approve"]
	if string(result["resultType"]) != `"input_required"` || r.Method != "elicitation/create" || r.Params.Mode != "url" || r.Params.Message == "" {
		t.Fatalf("it is no link: %s", result)
	}
	return r.Params.URL, string(result["requestState"])
}

func TestAClientThatOpensLinksIsSentToThePageAndAgreeingToOpenItDecidesNothing(t *testing.T) {
	t.Parallel()
	desk, other := newToken(t, "--client-id", "desk"), newToken(t, "--client-id", "other")
	dir, lines := approving(t, fmt.Sprintf("http: {listen: %q, public_url: 'https://tools.example.com/wharf/', auth: {tokens: [%s, %s]}}\n",
		freePort(t), desk.entry(), other.entry()))
	h := serve(t, dir)
	s := h.connectWith(desk.header(), "2025-11-25", nil)
	lists(t, s, "echo_append_line", true)
	with := func(c credential) headers { return headers{"Authorization": "Bearer " + c.Token} }
	answer := func(action, state string) string {
		return `,"inputResponses":{"approve":{"action":"` + action + `"}},"requestState":` + state
	}

	url, state := linkOf(t, h.opens(t, with(desk), ""))
	id, ok := strings.CutPrefix(url, "https://tools.example.com/wharf/approve/")
	if !ok || !strings.HasPrefix(id, "apr_") {
		t.Fatalf("it is sent to %s", url)
	}
	// Without an answer it is asked again; another caller has nothing of it.
	if again, _ := linkOf(t, h.opens(t, with(desk), `,"requestState":`+state)); again != url {
		t.Errorf("then it is sent to %s", again)
	}
	var tired map[string]json.RawMessage
	for last := state; last != ""; { // not for ever, though
		if tired = h.opens(t, with(desk), `,"requestState":`+last); len(tired["requestState"]) == 0 {
			break
		}
		_, last = linkOf(t, tired)
	}
	if !bytes.Contains(tired["_meta"], []byte("approval_pending")) {
		t.Errorf("a client that never answers is told %s", tired)
	}
	if got := h.opens(t, with(other), answer("accept", state)); !bytes.Contains(got["error"], []byte("invalid request state")) {
		t.Errorf("another caller: %s", got)
	}
	// Who declines is told how to come back otherwise, and so does.
	declined := h.opens(t, with(desk), answer("decline", state))
	var meta map[string]any
	if err := json.Unmarshal(declined["_meta"], &meta); err != nil {
		t.Fatal(err)
	}
	text := func(key string) string { s, _ := meta["toolwharf/"+key].(string); return s }
	if text("approval_id") != id || text("approval_url") != url || text("run_id") == "" || text("call_id") == "" {
		t.Fatalf("declined: %s", declined)
	}
	r, err := s.CallTool(t.Context(), resumed(pending{id, text("run_id"), text("call_id")}))
	if p := parked(t, r, err); p.approval != id || r.Meta["toolwharf/approval_url"] != url {
		t.Errorf("it comes back by its keys: %+v", r.Meta)
	}
	// Who accepts is held until somebody has decided.
	done := make(chan map[string]json.RawMessage)
	go func() { done <- h.opens(t, with(desk), answer("accept", state)) }()
	if status, a := h.operator().ask("POST", "/v1/approvals/"+id, `{"approve":true}`); status != 200 {
		t.Errorf("%d %+v", status, a)
	}
	if got := <-done; len(got["isError"]) != 0 || got["error"] != nil || string(got["resultType"]) == `"input_required"` {
		t.Errorf("approved: %s", got)
	}
	if got := h.opens(t, with(desk), answer("accept", state)); !bytes.Contains(got["_meta"], []byte("approval_used")) {
		t.Errorf("again: %s", got)
	}
	_, state = linkOf(t, h.opens(t, with(desk), ""))
	decide(t, dir, "deny", onlyOne(t, dir, "pending"))
	if got := h.opens(t, with(desk), answer("accept", state)); !bytes.Contains(got["_meta"], []byte("approval_declined")) {
		t.Errorf("denied: %s", got)
	}
	if got, want := ran(t, lines), []string{"x 1"}; !slices.Equal(got, want) {
		t.Errorf("ran %q", got)
	}
}
