// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// person answers forms, and remembers what was asked.
type person struct {
	mu     sync.Mutex
	asked  []string
	answer func(message string) *mcp.ElicitResult
	can    *mcp.ElicitationCapabilities // nil: forms
}

func (p *person) elicit(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, strings.TrimSpace(r.Params.Message+" "+r.Params.URL))
	return p.answer(r.Params.Message), nil
}

func (p *person) questions() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

func accepts(content map[string]any) *mcp.ElicitResult {
	return &mcp.ElicitResult{Action: "accept", Content: content}
}

// connectAs connects a client whose user answers forms.
func (h *host) connectAs(p *person, protocol string) *mcp.ClientSession {
	h.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: p.elicit,
		Capabilities:       &mcp.ClientCapabilities{Elicitation: p.can},
	})
	session, err := client.Connect(h.t.Context(), &mcp.StreamableClientTransport{Endpoint: h.url},
		&mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = session.Close() })
	return session
}

func TestTheClientsUserDecidesByAFormAndOnlyAnExplicitYesApproves(t *testing.T) {
	t.Parallel()
	dir, lines := approving(t, "approval: {client_form: true}\n")
	h := serve(t, dir)
	p := &person{}
	s := h.connectAs(p, "")
	lists(t, s, "echo_append_line", true)
	for name, c := range map[string]struct {
		answer *mcp.ElicitResult
		runs   bool
	}{
		"yes":              {accepts(map[string]any{"approve": true}), true},
		"accepted, but no": {accepts(map[string]any{"approve": false}), false},
		"declined":         {&mcp.ElicitResult{Action: "decline"}, false},
		"cancelled":        {&mcp.ElicitResult{Action: "cancel"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p.mu.Lock()
			p.answer = func(string) *mcp.ElicitResult { return c.answer }
			p.mu.Unlock()
			before, asked := len(ran(t, lines)), len(p.questions())
			r, err := appendLine(t, s, `{"line":"form","n":9007199254740993}`, pending{})
			if err != nil {
				t.Fatal(err)
			}
			if r.IsError == c.runs || (len(ran(t, lines)) == before+1) != c.runs {
				t.Errorf("error %v, ran %q: %s", r.IsError, ran(t, lines), textOf(r))
			}
			if !c.runs && r.Meta["toolwharf/error_kind"] != "approval_denied" {
				t.Errorf("meta %v", r.Meta)
			}
			q := p.questions()
			if len(q) != asked+1 || !strings.Contains(q[asked], "echo_append_line") || !strings.Contains(q[asked], "9007199254740993") {
				t.Errorf("asked %q", q[asked:])
			}
		})
	}
	older := h.connectAs(p, "2025-06-18") // cannot be asked: falls back to the mode, deny
	r, err := appendLine(t, older, `{"line":"form","n":1}`, pending{})
	says(t, r, err, "approval_denied", "approval_required")
}

func TestAnAdapterAsksTheUserAndNobodyIsAskedTwice(t *testing.T) {
	t.Parallel()
	dir, _ := approving(t, "approval: {client_form: true}\n")
	h := serve(t, dir)
	p := &person{answer: func(message string) *mcp.ElicitResult {
		if strings.HasPrefix(message, "Approve ") {
			return accepts(map[string]any{"approve": true})
		}
		return accepts(map[string]any{"colour": "green", "keep": true})
	}}
	s := h.connectAs(p, "")
	lists(t, s, "echo_ask", true)

	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_ask"})
	if err != nil || r.IsError || !strings.Contains(textOf(r), "green") {
		t.Fatalf("ask: %v %q", err, textOf(r))
	}
	if q := p.questions(); len(q) != 1 || !strings.HasPrefix(q[0], "[echo] ") {
		t.Errorf("the user was asked %q", q)
	}
	r, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_ask_secret"})
	if err != nil || !r.IsError || r.Meta["toolwharf/error_kind"] != "tool_failed" {
		t.Errorf("a form for a password: %v %v %q", err, r.Meta, textOf(r))
	}
	if q := p.questions(); len(q) != 1 {
		t.Errorf("the user was asked %q", q)
	}

	r, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_write_after_asking", Arguments: map[string]any{"text": "x"}})
	if err != nil || r.IsError {
		t.Fatalf("write after asking: %v %q", err, textOf(r))
	}
	q := p.questions()[1:]
	if len(q) != 2 || !strings.HasPrefix(q[0], "Approve echo_write_after_asking") || !strings.HasPrefix(q[1], "[echo] ") {
		t.Errorf("asked %q", q)
	}
	if stdout, stderr, code := run(t, dir, "ledger", "verify"); code != 0 {
		t.Errorf("ledger verify: exit %d: %s%s", code, stdout, stderr)
	}
}

func TestAnAdapterThatAsksForEverIsEnded(t *testing.T) {
	t.Parallel()
	dir, _ := approving(t, "")
	h := serve(t, dir)
	p := &person{answer: func(string) *mcp.ElicitResult { return accepts(map[string]any{"colour": "green"}) }}
	s := h.connectAs(p, "")
	lists(t, s, "echo_ask_forever", true)
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_ask_forever"})
	if err == nil && !r.IsError {
		t.Errorf("it ended well: %q", textOf(r))
	}
	if n := len(p.questions()); n == 0 || n > 10 {
		t.Errorf("asked %d times", n)
	}
}

func TestAPluginThatWasMerelyDroppedInMayNotAsk(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	h := serve(t, dir)
	p := &person{answer: func(string) *mcp.ElicitResult { return accepts(map[string]any{"colour": "green"}) }}
	s := h.connectAs(p, "")
	lists(t, s, "echo_ask", true)
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_ask"})
	says(t, r, err, "denied", "may_not_ask")
	if q := p.questions(); len(q) != 0 {
		t.Errorf("asked %q", q)
	}
}

func TestAnAdapterSendsTheUserToAPageOnlyIfTheOperatorPermitsIt(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "adapters:\n  echo: {plugin: echo, allow_urls: true}\n  other: {plugin: echo}\n  mute: {plugin: echo, may_ask: false}\n")
	install(t, "echo", plugins)
	h := serve(t, dir)
	both := &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}
	p := &person{can: both, answer: func(string) *mcp.ElicitResult { return &mcp.ElicitResult{Action: "accept"} }}
	s := h.connectAs(p, "")
	for _, name := range []string{"echo_ask_page", "other_ask_page", "mute_ask"} {
		lists(t, s, name, true)
	}
	open := func(s *mcp.ClientSession, name, url string) (*mcp.CallToolResult, error) {
		return s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"url": url}})
	}

	r, err := open(s, "echo_ask_page", "https://example.com/sign-in?x=1")
	if err != nil || r.IsError || !strings.Contains(textOf(r), "true") {
		t.Fatalf("%v %q", err, textOf(r))
	}
	if q := p.questions(); len(q) != 1 || q[0] != "[echo] Please have a look at this page. https://example.com/sign-in?x=1" {
		t.Errorf("asked %q", q)
	}
	r, err = open(s, "other_ask_page", "https://example.com")
	says(t, r, err, "denied", "may_not_link")
	r, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "mute_ask"})
	says(t, r, err, "denied", "may_not_ask")
	r, err = open(s, "echo_ask_page", "http://example.com")
	says(t, r, err, "tool_failed", "question")
	forms := h.connectAs(&person{answer: p.answer}, "")
	r, err = open(forms, "echo_ask_page", "https://example.com")
	says(t, r, err, "tool_error", "input_unavailable")
	if q := p.questions(); len(q) != 1 {
		t.Errorf("asked %q", q)
	}
}
