// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A surface is where something could be had that is hidden from some. It says what
// there is of a name, or of one that does not exist.
type surface struct {
	name, there, absent string
	ask                 func(t *testing.T, s *mcp.ClientSession, name string) error
}

func reads(t *testing.T, s *mcp.ClientSession, uri string) error {
	t.Helper()
	_, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
	return err
}

func completes(t *testing.T, s *mcp.ClientSession, ref *mcp.CompleteReference, argument string) error {
	t.Helper()
	_, err := s.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteParamsArgument{Name: argument}})
	return err
}

var surfaces = []surface{
	{"a call", "echo_echo", "echo_none", func(t *testing.T, s *mcp.ClientSession, name string) error {
		t.Helper()
		_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"text": "x"}})
		return err
	}},
	{"a resource", "echo://about", "echo://none", reads},
	{"one of a template", "echo://repeat/a", "none://repeat/a", reads},
	{"a prompt", "echo_greet", "echo_none", func(t *testing.T, s *mcp.ClientSession, name string) error {
		t.Helper()
		_, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name, Arguments: map[string]string{"name": "Ann"}})
		return err
	}},
	{"a completion of a prompt", "echo_greet", "echo_none", func(t *testing.T, s *mcp.ClientSession, name string) error {
		t.Helper()
		return completes(t, s, &mcp.CompleteReference{Type: "ref/prompt", Name: name}, "name")
	}},
	{"a completion of a template", "echo://notes/{number}", "none://notes/{number}", func(t *testing.T, s *mcp.ClientSession, uri string) error {
		t.Helper()
		return completes(t, s, &mcp.CompleteReference{Type: "ref/resource", URI: uri}, "number")
	}},
}

// listed are the names that a caller is shown, of every kind.
func listed(t *testing.T, s *mcp.ClientSession) (names []string) {
	t.Helper()
	for one, err := range s.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, one.Name)
	}
	for one, err := range s.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, one.URI)
	}
	for one, err := range s.ResourceTemplates(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, one.URITemplate)
	}
	for one, err := range s.Prompts(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, one.Name)
	}
	return names
}

func TestNoSurfaceShowsACallerWhatIsHiddenFromItOrAnothers(t *testing.T) {
	t.Parallel()
	p := provide(t, "127.0.0.1:0")
	shop := newToken(t, "--client-id", "shop")
	dir, plugins := workspace(t, fmt.Sprintf(`
http: {listen: %q, allow_anonymous: true, auth: {issuer: %q, audience: toolwharf, tokens: [%s]}}
rules:
- {deny: [echo_echo, 'resources:echo://about', 'resources:echo://notes', 'resources:echo://notes/**', 'resources:echo://repeat/**', 'prompts:echo_greet'],
   principals: [anonymous, bob]}
`, freePort(t), p.issuer, shop.entry()))
	install(t, "echo", plugins)
	h := serve(t, dir)
	hidden := []string{"echo_echo", "echo://about", "echo://notes", "echo://notes/{number}", "echo://repeat/{text}{?times}", "echo_greet"}
	callers := []struct {
		comer
		sees bool
	}{
		{comer{"nobody", headers{}}, false},
		{comer{"ada", bearer(p.token("ada"))}, true},
		{comer{"bob, who operates", bearer(p.token("bob", "toolwharf:operate"))}, false},
		{comer{"shop", shop.header()}, true},
	}
	lists(t, h.connectWith(shop.header(), "", nil), "echo_echo", true)
	for _, protocol := range []string{"2026-07-28", "2025-06-18"} {
		sessions, kept := map[string]*mcp.ClientSession{}, map[string]string{}
		for _, c := range callers {
			s := h.connectWith(c.with, protocol, nil)
			sessions[c.name] = s
			names := listed(t, s)
			for _, name := range hidden {
				if slices.Contains(names, name) != c.sees {
					t.Errorf("%s, %s: lists %s: %v", protocol, c.name, name, !c.sees)
				}
			}
			if !slices.Contains(names, "echo_count") || !slices.Contains(names, "echo://pixel") || !slices.Contains(names, "echo_converse") {
				t.Errorf("%s, %s: lists %q", protocol, c.name, names)
			}
			for _, at := range surfaces {
				said, none := at.ask(t, s, at.there), at.ask(t, s, at.absent)
				switch {
				case none == nil:
					t.Errorf("%s, %s: %s has what there is not", protocol, c.name, at.name)
				case c.sees && said != nil:
					t.Errorf("%s, %s: %s: %v", protocol, c.name, at.name, said)
				case !c.sees && (said == nil || strings.ReplaceAll(said.Error(), at.there, at.absent) != none.Error()):
					t.Errorf("%s, %s: %s: %v, should be as %v", protocol, c.name, at.name, said, none)
				}
			}
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_big", Arguments: map[string]any{"bytes": 2 * mib}})
			if err != nil || len(r.Content) != 2 {
				t.Fatalf("%s: %+v, %v", c.name, r, err)
			}
			link, ok := r.Content[1].(*mcp.ResourceLink)
			if !ok {
				t.Fatalf("%s: %+v", c.name, r.Content[1])
			}
			kept[c.name] = link.URI
		}
		never := "toolwharf://result/call_" + strings.Repeat("A", 26)
		for _, c := range callers {
			none := reads(t, sessions[c.name], never)
			for owner, uri := range kept {
				said := reads(t, sessions[c.name], uri)
				if owner == c.name && said != nil {
					t.Errorf("%s, %s: its own result: %v", protocol, c.name, said)
				}
				if owner != c.name && (said == nil || none == nil || strings.ReplaceAll(said.Error(), uri, never) != none.Error()) {
					t.Errorf("%s, %s: the result of %s: %v, should be as %v", protocol, c.name, owner, said, none)
				}
			}
		}
	}
	for _, c := range callers {
		ack, _ := h.listens(t, c.with, `"resourceSubscriptions":["echo://notes","echo://none","toolwharf://result/call_`+strings.Repeat("A", 26)+`"]`)
		if strings.Contains(ack, "echo://notes") != c.sees || strings.Contains(ack, "echo://none") || strings.Contains(ack, "toolwharf://") {
			t.Errorf("%s hears of %s", c.name, ack)
		}
	}
	// The operator token is for deciding: it lists, reads and calls nothing.
	operator := headers{"Authorization": "Bearer " + operatorToken(t, dir)}
	for method, params := range map[string]string{
		"tools/list": "", "resources/list": "", "resources/templates/list": "", "prompts/list": "", "server/discover": "",
		"subscriptions/listen": `"notifications":{"toolsListChanged":true}`,
	} {
		if status, _, code, _ := h.refused(t, h.url, operator, method, "", params); status != http.StatusUnauthorized || code != "unauthorized" {
			t.Errorf("the operator token, %s: %d %s", method, status, code)
		}
	}
}

func TestAnAgentApprovesItsOwnCallByNoRoute(t *testing.T) {
	t.Parallel()
	p := provide(t, "127.0.0.1:0")
	shop := newToken(t, "--client-id", "shop", "--scope", "toolwharf:operate")
	dir, lines := approving(t, fmt.Sprintf("http: {listen: %q, allow_anonymous: true, auth: {issuer: %q, audience: toolwharf, tokens: [%s]}}\n",
		freePort(t), p.issuer, shop.entry()))
	h := serve(t, dir)
	lists(t, h.connectWith(shop.header(), "", nil), "echo_append_line", true)
	away := t.TempDir()
	for _, c := range []struct {
		name, token string
		says        string // what its own token decides of its own call
	}{
		{"nobody", "", ""},
		{"ada", p.token("ada"), "only operators"},
		{"bob, who operates", p.token("bob", "toolwharf:operate"), "asked"},
		{"shop, who operates", shop.Token, "asked"},
	} {
		t.Run(c.name, func(t *testing.T) {
			with := headers{}
			if c.token != "" {
				with = bearer(c.token)
			}
			s := h.connectWith(with, "", nil)
			const args = `{"line":"x","n":1}`
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_append_line", Arguments: json.RawMessage(args)})
			mine := parked(t, r, err)
			path := "/v1/approvals/" + mine.approval

			// Over HTTP, whatever it says of itself.
			for name, more := range map[string]headers{
				"plainly": {}, "as a user": {"X-User": "operator/root", "X-Forwarded-User": "operator"}, "in another form": {"Content-Type": "application/x-www-form-urlencoded"},
				"with a cookie": {"Cookie": "toolwharf-session=" + c.token}, "of its page": {"Origin": h.base},
			} {
				maps.Copy(more, with)
				if status := h.post(t, more, path, `{"approve":true,"by":"operator"}`); status < 400 {
					t.Errorf("over HTTP %s: %d", name, status)
				}
			}

			// On the page, where an operator is let in and may not decide this.
			page := h.decider(with)
			page.t = t
			resp, said := page.do(http.MethodGet, "/approve/"+mine.approval, "")
			if resp.StatusCode != http.StatusUnauthorized || strings.Contains(string(said), "append_line") {
				t.Errorf("the page shows %s %s", resp.Status, said)
			}
			page.header = headers{"Content-Type": "application/x-www-form-urlencoded", "Origin": h.base, "Sec-Fetch-Site": "same-origin"}
			maps.Copy(page.header, with)
			form := url.Values{"token": {c.token}, "next": {mine.approval}, "decision": {"approve"}}
			if resp, said = page.do(http.MethodPost, "/approve/"+mine.approval, form.Encode()); resp.StatusCode < 400 {
				t.Errorf("the page, unasked: %s %s", resp.Status, said)
			}
			resp, said = page.do(http.MethodPost, "/approve/login", form.Encode())
			if in := len(resp.Cookies()) > 0; in != strings.HasSuffix(c.name, "operates") {
				t.Errorf("the page lets in: %v: %s %s", in, resp.Status, said)
			}
			for _, cookie := range resp.Cookies() {
				page.header["Cookie"] = cookie.Name + "=" + cookie.Value
				_, said = page.do(http.MethodGet, "/approve/"+mine.approval, "")
				_, rest, _ := strings.Cut(string(said), `name="csrf" value="`)
				csrf, _, there := strings.Cut(rest, `"`)
				form.Set("csrf", csrf)
				if resp, said = page.do(http.MethodPost, "/approve/"+mine.approval, form.Encode()); !there || resp.StatusCode != http.StatusForbidden ||
					!strings.Contains(string(said), "whoever asked") {
					t.Errorf("the page, signed in: %s %s", resp.Status, said)
				}
			}

			// By the command line, from where there is no state.
			at := []string{"approvals", "approve", mine.approval, "--host", h.base}
			if _, stderr, code := run(t, away, at...); code != 2 {
				t.Errorf("without a token: exit %d: %s", code, stderr)
			}
			if c.token != "" {
				if _, stderr, code := run(t, away, append(at, "--token", c.token)...); code != 1 || !strings.Contains(stderr, c.says) {
					t.Errorf("with its own token: exit %d: %s", code, stderr)
				}
			}
			if _, stderr, code := run(t, away, "approvals", "approve", mine.approval); code == 0 {
				t.Errorf("without a host: exit %d: %s", code, stderr)
			}

			// By calling again and saying so.
			params := resumed(mine)
			params.Meta["toolwharf/approved"], params.Meta["toolwharf/approval_id"] = true, mine.approval
			r, err = s.CallTool(t.Context(), params)
			if again := parked(t, r, err); again.approval != mine.approval {
				t.Errorf("it is asked about as %s, then as %s", mine.approval, again.approval)
			}
			if got := ran(t, lines); len(got) > 0 {
				t.Fatalf("it ran: %q", got)
			}
			stdout, stderr, code := run(t, dir, "approvals", "show", mine.approval, "--json")
			if code != 0 || !strings.Contains(stdout, `"status": "pending"`) {
				t.Errorf("exit %d: %s%s", code, stdout, stderr)
			}
		})
	}
}

func TestNobodyTakesUpTheRoundOfAnother(t *testing.T) {
	t.Parallel()
	p := provide(t, "127.0.0.1:0")
	shop := newToken(t, "--client-id", "shop", "--scope", "toolwharf:operate")
	dir, lines := approving(t, fmt.Sprintf("http: {listen: %q, allow_anonymous: true, auth: {issuer: %q, audience: toolwharf, tokens: [%s]}}\n"+
		"approval: {client_form: true}\n", freePort(t), p.issuer, shop.entry()))
	h := serve(t, dir)
	lists(t, h.connectWith(shop.header(), "", nil), "echo_append_line", true)
	callers := map[string]headers{"nobody": {}, "ada": bearer(p.token("ada")), "bob": bearer(p.token("bob", "toolwharf:operate")), "shop": shop.header()}
	yes := map[string]string{}
	for name, with := range callers {
		asked := h.formAs(t, with, "")
		if string(asked["resultType"]) != `"input_required"` {
			t.Fatalf("%s is asked %s", name, asked)
		}
		yes[name] = `,"inputResponses":{"approve":{"action":"accept","content":{"approve":true}}},"requestState":` + string(asked["requestState"])
	}
	for name, with := range callers {
		for owner, answer := range yes {
			if owner == name {
				continue
			}
			if got := h.formAs(t, with, answer); !strings.Contains(string(got["error"]), "invalid request state") {
				t.Errorf("%s answers for %s: %s", name, owner, got)
			}
		}
	}
	if got := ran(t, lines); len(got) > 0 {
		t.Fatalf("it ran: %q", got)
	}
	for name, with := range callers {
		if got := h.formAs(t, with, yes[name]); got["error"] != nil || got["isError"] != nil {
			t.Errorf("%s answers for itself: %s", name, got)
		}
	}
	if got := ran(t, lines); len(got) != len(callers) {
		t.Errorf("it ran: %q", got)
	}
}

func TestNobodyGetsWhatAnotherWasAnswered(t *testing.T) {
	t.Parallel()
	p := provide(t, "127.0.0.1:0")
	shop := newToken(t, "--client-id", "shop")
	dir, plugins := workspace(t, fmt.Sprintf("http: {listen: %q, allow_anonymous: true, auth: {issuer: %q, audience: toolwharf, tokens: [%s]}}\n"+
		"adapters: {echo: {plugin: echo, tools: {echo: {cache: 1h}}}}\n", freePort(t), p.issuer, shop.entry()))
	install(t, "echo", plugins)
	h := serve(t, dir)
	lists(t, h.connectWith(shop.header(), "", nil), "echo_echo", true)
	for _, c := range []comer{
		{"nobody", headers{}},
		{"ada", bearer(p.token("ada"))},
		{"ada, with more rights", bearer(p.token("ada", "read"))},
		{"bob", bearer(p.token("bob"))},
		{"shop", shop.header()},
	} {
		s := h.connectWith(c.with, "", nil)
		for _, cached := range []bool{false, true} {
			r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_echo", Arguments: map[string]any{"text": "x"}})
			if err != nil || r.IsError || (r.Meta["toolwharf/cached"] == true) != cached {
				t.Errorf("%s: %+v, %v", c.name, r, err)
			}
		}
	}
}

func TestWhatAilsAHostIsForItsOperatorsWhereOthersReachIt(t *testing.T) {
	t.Parallel()
	p := provide(t, "127.0.0.1:0")
	shop := newToken(t, "--client-id", "shop", "--scope", "toolwharf:operate")
	_, port, _ := strings.Cut(freePort(t), ":")
	dir, plugins := workspace(t, fmt.Sprintf("http: {listen: \"0.0.0.0:%s\", allowed_hosts: [0.0.0.0], allow_anonymous: true, auth: {issuer: %q, audience: toolwharf, tokens: [%s]}}\n"+
		"adapters: {secret-project: {plugin: absent}}\n", port, p.issuer, shop.entry()))
	install(t, "echo", plugins)
	h := serve(t, dir)
	operator := headers{"Authorization": "Bearer " + operatorToken(t, dir)}
	for _, c := range []struct {
		comer
		sees bool
	}{
		{comer{"nobody", headers{}}, false},
		{comer{"ada", bearer(p.token("ada"))}, false},
		{comer{"bob, who operates", bearer(p.token("bob", "toolwharf:operate"))}, true},
		{comer{"shop, who operates", shop.header()}, true},
		{comer{"the operator", operator}, true},
		{comer{"a wrong token", bearer("twh_" + strings.Repeat("x", 43))}, false},
		{comer{"one who says so", headers{"X-Forwarded-For": "127.0.0.1", "X-User": "operator"}}, false},
	} {
		d := h.decider(c.with)
		resp, said := d.do(http.MethodGet, "/readyz", "")
		if strings.Contains(string(said), "secret-project") != c.sees || !c.sees && strings.Contains(string(said), "faults") {
			t.Errorf("%s: /readyz: %s %s", c.name, resp.Status, said)
		}
		if resp, said = d.do(http.MethodGet, "/metrics", ""); (resp.StatusCode == http.StatusOK) != c.sees || !c.sees && strings.Contains(string(said), "# HELP") {
			t.Errorf("%s: /metrics: %s %.200s", c.name, resp.Status, said)
		}
		for _, path := range []string{"/healthz", "/v1/openapi.json", "/nothing"} {
			resp, said = d.do(http.MethodGet, path, "")
			if strings.Contains(string(said), "secret-project") || strings.Contains(string(said), "faults") {
				t.Errorf("%s: %s: %s %s", c.name, path, resp.Status, said)
			}
		}
	}
}
