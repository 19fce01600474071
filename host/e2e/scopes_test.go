// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestACallThatLacksAScopeIsHiddenOrSaysWhatToAskFor(t *testing.T) {
	t.Parallel()
	p := provide(t, "127.0.0.1:0")
	for _, stepUp := range []bool{false, true} {
		t.Run(fmt.Sprintf("step_up %v", stepUp), func(t *testing.T) {
			dir, plugins := workspace(t, fmt.Sprintf("http: {listen: %q, auth: {issuer: %q, audience: toolwharf, step_up: %v}}\n"+
				"rules: [{allow: [echo_echo, 'resources:echo://about', 'resources:echo://repeat/**', 'prompts:echo_converse'], scopes: [echo, 'shop:read']}, "+
				"{deny: [echo_count, 'resources:echo://pixel', 'prompts:echo_greet']}]\n", freePort(t), p.issuer, stepUp))
			install(t, "echo", plugins)
			h := serve(t, dir)
			full, half := p.token("desk", "echo", "shop:read"), p.token("desk", "echo")
			if status, _, code, _ := h.refusal(t, h.url, bearer(full)); status != http.StatusOK {
				t.Errorf("with both scopes: %d %s", status, code)
			}
			s := h.connectWith(bearer(half), "", nil)
			lists(t, s, "echo_echo", false)
			for what, c := range map[string]struct {
				method, name, params string
				lacks                bool
			}{
				"a resource":                {"resources/read", "echo://about", `"uri":"echo://about"`, true},
				"one of a template":         {"resources/read", "echo://repeat/a", `"uri":"echo://repeat/a"`, true},
				"a template":                {"resources/read", "echo://repeat/{text}{?times}", `"uri":"echo://repeat/{text}{?times}"`, false},
				"a prompt":                  {"prompts/get", "echo_converse", `"name":"echo_converse"`, true},
				"a resource that is denied": {"resources/read", "echo://pixel", `"uri":"echo://pixel"`, false},
				"a prompt that is denied":   {"prompts/get", "echo_greet", `"name":"echo_greet"`, false},
				"a prompt as a tool":        {"tools/call", "echo_converse", `"name":"echo_converse","arguments":{}`, false},
				"nothing":                   {"resources/read", "echo://nothing", `"uri":"echo://nothing"`, false},
			} {
				status, challenge, code, _ := h.refused(t, h.url, bearer(half), c.method, c.name, c.params)
				told := status == http.StatusForbidden && code == "insufficient-scope" && strings.Contains(challenge, `scope="echo shop:read"`)
				if told != (stepUp && c.lacks) || !told && (status == http.StatusForbidden || challenge != "") {
					t.Errorf("%s: %d %s %s", what, status, code, challenge)
				}
				if status, _, code, _ = h.refused(t, h.url, bearer(full), c.method, c.name, c.params); c.lacks && status != http.StatusOK {
					t.Errorf("%s, with both scopes: %d %s", what, status, code)
				}
			}
			status, challenge, code, _ := h.refusal(t, h.url, bearer(half))
			if !stepUp {
				if status == http.StatusForbidden || challenge != "" {
					t.Errorf("it is told: %d %s %s", status, code, challenge)
				}
				_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_echo", Arguments: map[string]any{"text": "x"}})
				unknown(t, err, "echo_echo")
				return
			}
			for _, part := range []string{`error="insufficient_scope"`, `scope="echo shop:read"`, `resource_metadata="`} {
				if status != http.StatusForbidden || code != "insufficient-scope" || !strings.Contains(challenge, part) {
					t.Errorf("%d %s %s, without %s", status, code, challenge, part)
				}
			}
			_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_count"})
			unknown(t, err, "echo_count") // scopes would not help
			resp, err := http.Get(h.base + "/.well-known/oauth-protected-resource/mcp")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			var said struct {
				Scopes []string `json:"scopes_supported"`
			}
			if err := json.NewDecoder(resp.Body).Decode(&said); err != nil || !slices.Equal(said.Scopes, []string{"echo", "shop:read"}) {
				t.Errorf("scopes are %q, %v", said.Scopes, err)
			}
			eventually(t, "the call is in the ledger", func() error {
				var codes []string
				for _, row := range rows(t, dir) {
					codes = append(codes, fmt.Sprint(row["tool"], " ", row["error_code"]))
				}
				for _, want := range []string{"echo_echo hidden", "resources:echo://about hidden", "prompts:echo_converse hidden"} {
					if !slices.Contains(codes, want) {
						return fmt.Errorf("there are %q", codes)
					}
				}
				return nil
			})
		})
	}
}

// comer is somebody, by what it sends.
type comer struct {
	name string
	with headers
}

func TestNobodySeesResumesOrDecidesWhatIsAnothers(t *testing.T) {
	t.Parallel()
	p := provide(t, "127.0.0.1:0")
	shop := newToken(t, "--client-id", "shop", "--scope", "toolwharf:operate")
	dir, lines := approving(t, fmt.Sprintf("http: {listen: %q, allow_anonymous: true, auth: {issuer: %q, audience: toolwharf, tokens: [%s]}}\n"+
		"rules: [{deny: [echo_echo], principals: [anonymous, bob]}]\n", freePort(t), p.issuer, shop.entry()))
	h := serve(t, dir)
	callers := []comer{
		{"nobody", headers{}},
		{"ada", bearer(p.token("ada"))},
		{"bob, who operates", bearer(p.token("bob", "toolwharf:operate"))},
		{"shop, who operates", shop.header()},
	}
	operator := comer{"the operator", headers{"Authorization": "Bearer " + operatorToken(t, dir)}}
	sessions := map[string]*mcp.ClientSession{}
	mine := map[string]pending{}
	for _, c := range callers {
		s := h.connectWith(c.with, "", nil)
		sessions[c.name] = s
		lists(t, s, "echo_echo", c.name != "nobody" && !strings.HasPrefix(c.name, "bob"))
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_append_line", Arguments: json.RawMessage(`{"line":"x","n":1}`)})
		mine[c.name] = parked(t, r, err)
	}
	if _, err := h.tryWith(operator.with, "", nil); err == nil {
		t.Error("the operator token calls tools")
	}
	for _, c := range callers {
		// Another's keys name nothing: the call is a fresh one.
		for owner, key := range mine {
			if owner == c.name {
				continue
			}
			r, err := appendLine(t, sessions[c.name], `{"line":"x","n":1}`, key)
			if fresh := parked(t, r, err); fresh.approval == key.approval || fresh.call == key.call {
				t.Errorf("%s came back for the call of %s", c.name, owner)
			}
		}
		// Who decides about what, over HTTP.
		for owner, key := range mine {
			if strings.Contains(c.name, "who operates") && owner != c.name {
				continue // it may; see below
			}
			want := http.StatusForbidden
			if c.name == "nobody" {
				want = http.StatusUnauthorized
			}
			if status := h.post(t, c.with, "/v1/approvals/"+key.approval, `{"approve":true}`); status != want {
				t.Errorf("%s decides about the call of %s: %d", c.name, owner, status)
			}
		}
		if status := h.post(t, c.with, "/v1/approvals", ""); !strings.Contains(c.name, "who operates") && status == http.StatusOK {
			t.Errorf("%s lists approvals", c.name)
		}
	}
	// Arguments are no way to an approval, nor are headers that name somebody.
	forged := headers{"X-User": "operator/root", "X-Forwarded-User": "operator", "Authorization": callers[1].with["Authorization"]}
	if status := h.post(t, forged, "/v1/approvals/"+mine["ada"].approval, `{"approve":true,"by":"operator"}`); status != http.StatusForbidden {
		t.Errorf("with forged headers: %d", status)
	}
	if got := ran(t, lines); len(got) > 0 {
		t.Fatalf("it ran: %q", got)
	}
	// Those who may, do: each for another, and its caller alone takes it up.
	for decider, owner := range map[string]string{"bob, who operates": "ada", "shop, who operates": "bob, who operates", operator.name: "shop, who operates"} {
		with := operator.with
		if i := slices.IndexFunc(callers, func(c comer) bool { return c.name == decider }); i >= 0 {
			with = callers[i].with
		}
		if status := h.post(t, with, "/v1/approvals/"+mine[owner].approval, `{"approve":true}`); status != http.StatusOK {
			t.Errorf("%s decides about the call of %s: %d", decider, owner, status)
		}
		before := len(ran(t, lines))
		for _, c := range callers {
			r, err := appendLine(t, sessions[c.name], `{"line":"x","n":1}`, mine[owner])
			if err != nil {
				t.Fatal(err)
			}
			if done := !r.IsError; done != (c.name == owner) {
				t.Errorf("%s took up the call of %s: %v", c.name, owner, done)
			}
		}
		if got := len(ran(t, lines)) - before; got != 1 {
			t.Errorf("the call of %s ran %d times", owner, got)
		}
	}
	// The control socket is the operator's, and the command line says who decided.
	decide(t, dir, "deny", mine["nobody"].approval)
	stdout, _, _ := run(t, dir, "approvals", "show", mine["nobody"].approval, "--json")
	if !strings.Contains(stdout, `"decided_by": "operator/`) {
		t.Errorf("decided by %s", stdout)
	}
	if info, err := os.Stat(filepath.Join(dir, ".toolwharf", "control.sock")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the control socket: %v, %v", info, err)
	}
}

// post sends JSON, or asks if there is none, and returns how it was answered.
func (h *host) post(t *testing.T, with headers, path, body string) int {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(t.Context(), method, h.base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for k, v := range with {
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}
