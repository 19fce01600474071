// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ruled is a directory with a configuration, to which the plugin echo is added.
func ruled(t *testing.T, yaml string) string {
	t.Helper()
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	write(t, filepath.Join(dir, "toolwharf.yaml"), yaml+"\nplugins: {dirs: [plugins]}\n")
	return dir
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheExamplesOfTheRulesPageWorkAsTheyStandThere(t *testing.T) {
	t.Parallel()
	const page = "../../docs/rules.md"
	blocks := blocksOf(t, page, "yaml")
	if len(blocks) != 4 {
		t.Fatalf("%d blocks", len(blocks))
	}
	for _, block := range blocks[1:3] {
		if stdout, stderr, code := run(t, ruled(t, block), "validate"); code != 0 {
			t.Errorf("%s\n%s%s", block, stdout, stderr)
		}
	}
	dir := ruled(t, blocks[0])
	write(t, filepath.Join(dir, "rules.test.yaml"), blocks[3])
	h := serve(t, dir)
	commands := commandsOf(t, page)
	if len(commands) < 4 {
		t.Fatalf("found only %q", commands)
	}
	want := []string{"rule on line 8: confirm * with tags journal", "rule on line 8", "is valid: 1 adapters", "5 of 5 cases passed"}
	for i, command := range commands {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+strings.TrimSuffix(toolwharf, "/toolwharf")+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want[i]) || strings.Contains(string(out), "warning") {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	// What a caller meets is what they say, and the operator reads why in the ledger.
	s := h.connect("", nil)
	lists(t, s, "notes_echo", true)
	lists(t, s, "notes_danger", false)
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "notes_write_note", Arguments: map[string]any{"path": "x", "text": "y"}})
	if err == nil && !r.IsError {
		t.Errorf("%+v", r)
	}
	_, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "notes_danger"})
	unknown(t, err, "notes_danger")
	eventually(t, "the ledger says why", func() error {
		stdout, _, _ := run(t, dir, "ledger", "query", "--json")
		if !strings.Contains(stdout, "rule on line 4: deny notes_danger") {
			return errors.New("not yet: " + stdout)
		}
		return nil
	})
}

func TestRulesAreHeldAgainstCasesWithoutARunningHost(t *testing.T) {
	t.Parallel()
	dir := ruled(t, "rules:\n  - allow: [echo_append_line]\n    when: args.n < 5\n  - deny: ['resources:**']\n  - deny: [echo_danger]\n    effects: [destructive]\n")
	write(t, filepath.Join(dir, "cases.yaml"), `cases:
  - {tool: echo_append_line, arguments: {line: x, n: 1}, expect: allow, line: 2}
  - {name: too many, tool: echo_append_line, arguments: {line: x, n: 9007199254740993}, expect: allow}
  - {tool: echo_append_line, arguments: {line: x, n: 1}, expect: allow, line: 5}
  - {tool: echo_append_line, arguments: {n: x}, expect: deny}
  - {tool: echo_absent, expect: deny}
  - {tool: echo_danger, expect: deny, line: 5, principal: {client_id: agent}}
  - {tool: echo_echo, arguments: {text: x}, expect: allow}
`)
	stdout, stderr, code := run(t, dir, "rules", "test", "cases.yaml", "--json")
	var got struct {
		Cases []struct {
			Line   int    `json:"line"`
			Got    string `json:"got"`
			Rule   int    `json:"rule_line"`
			Passed bool   `json:"passed"`
			Reason string `json:"reason"`
		} `json:"cases"`
		Passed, Failed int
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 1 || got.Passed != 3 || got.Failed != 4 || len(got.Cases) != 7 {
		t.Fatalf("exit %d, %v: %s%s", code, err, stdout, stderr)
	}
	for i, want := range []struct {
		got    string
		rule   int
		passed bool
		reason string
	}{
		{"allow", 2, true, "rule on line 2: allow echo_append_line when args.n < 5"},
		{"confirm", 0, false, "the default for additive is confirm"},
		{"allow", 2, false, "line 5 was to decide: rule on line 2"},
		{"", 0, false, "the rules were not asked: validate refused it"},
		{"", 0, false, `no tool "echo_absent"`},
		{"deny", 5, true, "echo_danger is hidden from"},
		{"allow", 0, true, "the default for read_only is allow"},
	} {
		c := got.Cases[i]
		if c.Line != i+2 || c.Got != want.got || c.Rule != want.rule || c.Passed != want.passed || !strings.Contains(c.Reason, want.reason) {
			t.Errorf("%+v, want %+v", c, want)
		}
	}
	if stdout, _, code = run(t, dir, "rules", "test", "cases.yaml"); code != 1 || !strings.Contains(stdout, "FAIL cases.yaml:3 too many: allow\n     got confirm: no rule matches") ||
		!strings.Contains(stdout, "3 of 7 cases passed") {
		t.Errorf("exit %d: %s", code, stdout)
	}
	if _, stderr, code = run(t, dir, "rules", "test"); code != 2 || !strings.Contains(stderr, "rules.test.yaml: no such file") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestValidateWarnsOfRulesThatCanNeverDecide(t *testing.T) {
	t.Parallel()
	dir := ruled(t, `adapters: {orders: {plugin: echo, exclude: [danger]}}
rules:
  - allow: [orders_echo]
  - deny: ["shop_*"]
  - deny: ["orders_*"]
    adapters: [shop]
  - confirm: ["orders_ec*"]
    when: args.txt == "x"
  - deny: [orders_danger]
  - deny: [orders_echo, "orders_ech?"]
    effects: [destructive]
  - deny: ["orders_*"]
    effects: [destructive]
  - allow: [orders_crash]
    effects: [destructive]
`)
	warns := func(more int, want ...string) {
		t.Helper()
		stdout, stderr, code := run(t, dir, "validate")
		if code != 0 || strings.Count(stderr, "warning") != len(want)+more {
			t.Errorf("exit %d: %s%s", code, stdout, stderr)
		}
		for _, w := range want {
			if !strings.Contains(stderr, w) {
				t.Errorf("%s is not said:\n%s", w, stderr)
			}
		}
	}
	never := []string{
		"toolwharf.yaml:4: warning: rules[1]: never matches: no tool or adapter is known that shop_* matches",
		"toolwharf.yaml:5: warning: rules[2]: never matches: there is no adapter shop",
		"toolwharf.yaml:14: warning: rules[7]: never decides: the rule on line 12 matches all that it matches",
	}
	warns(0, never...) // nothing is known but the prefix
	h := serve(t, dir)
	lists(t, h.connect("", nil), "orders_echo", true)
	warns(0, append(never, "rules[3]: when looks at args.txt, which no tool has",
		"rules[4]: never matches: no tool or adapter is known that orders_danger matches",
		"rules[5]: never matches: no tool or adapter is known that orders_echo, orders_ech? matches, with effects destructive")...)
	h.stop()
	warns(0, append(never, "rules[4]: never matches", "rules[5]: never matches")...) // what was seen
	stdout, _, code := run(t, dir, "validate", "--json")
	if code != 0 || strings.Count(stdout, `"warning": true`) != 5 || !strings.Contains(stdout, `"valid": true`) {
		t.Errorf("exit %d: %s", code, stdout)
	}
}

func TestValidateWarnsOfConditionsThatDoNotFitTheTypesOfTools(t *testing.T) {
	t.Parallel()
	dir := ruled(t, "adapters: {notes: {plugin: echo}}")
	h := serve(t, dir)
	lists(t, h.connect("", nil), "notes_append_line", true)
	for _, c := range []struct{ when, want string }{
		{`args.n < "10"`, blocksOf(t, "../../docs/rules.md", "text")[0]},
		{`args.n < 10 && args.line == 5 && has(args.line)`, ""},
	} {
		write(t, filepath.Join(dir, "toolwharf.yaml"), `adapters: {notes: {plugin: echo}}
rules:
  - allow: [notes_append_line]
    when: `+c.when+`
plugins: {dirs: [plugins]}
`)
		stdout, stderr, code := run(t, dir, "validate")
		if code != 0 || !strings.Contains(stderr, c.want) || strings.Contains(stderr, "warning") != (c.want != "") {
			t.Errorf("%s: exit %d: %s%s", c.when, code, stdout, stderr)
		}
		if c.want == "" {
			continue
		}
		why, stderr, code := run(t, dir, "explain", "notes_append_line", "--args", `{"line":"hello","n":1}`)
		if code != 0 || !strings.Contains(why+stderr, "cannot be judged, which denies: no such overload") {
			t.Errorf("exit %d: %s%s", code, why, stderr)
		}
	}
}

func TestARuleJudgesEachCallByItsArgumentsAndByWhatItsCallersTokenGrants(t *testing.T) {
	t.Parallel()
	ops, agent := newToken(t, "--client-id", "desk", "--scope", "ops"), newToken(t, "--client-id", "agent")
	dir := ruled(t, `http: {listen: "`+freePort(t)+`", auth: {tokens: [`+ops.entry()+`, `+agent.entry()+`]}}
rules:
  - deny: [echo_echo]
    when: args.text.matches("(?i)secret")
  - allow: [echo_notes]
    when: '"ops" in principal.scopes'
  - deny: [echo_notes]
  - deny: [echo_echo]
    when: size(args.text) > 10.5 && principal.client_id == "agent"
`)
	h := serve(t, dir)
	desk, bot := h.connectWith(ops.header(), "", nil), h.connectWith(agent.header(), "2025-11-25", nil)
	for _, c := range []struct {
		who       *mcp.ClientSession
		tool      string
		arguments string
		denied    bool
	}{
		{bot, "echo_echo", `{"text":"hello"}`, false},
		{bot, "echo_echo", `{"text":"SeCrEt"}`, true},
		{desk, "echo_echo", `{"text":"\u0073ecret"}`, true},
		{bot, "echo_echo", `{"text":"hello, world"}`, true},
		{desk, "echo_echo", `{"text":"hello, world"}`, false},
		{desk, "echo_notes", `{}`, false},
	} {
		r, err := c.who.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: json.RawMessage(c.arguments)})
		if err != nil {
			t.Fatal(err)
		}
		if r.IsError != c.denied {
			t.Errorf("%s %s: %s", c.tool, c.arguments, textOf(r))
		}
		if c.denied {
			says(t, r, err, "denied", "denied_by_rule")
			if text := textOf(r); text != c.tool+" is not allowed here" {
				t.Errorf("the model is told %q", text)
			}
		}
	}
	lists(t, desk, "echo_notes", true)
	lists(t, bot, "echo_notes", false)
	_, err := bot.CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_notes"})
	unknown(t, err, "echo_notes")
	var why []string
	eventually(t, "the ledger says why", func() error {
		why = nil
		for _, row := range rows(t, dir) {
			if detail, _ := row["detail"].(string); row["outcome"] == "refused" {
				why = append(why, detail)
			}
		}
		if len(why) != 4 {
			return fmt.Errorf("%q", why)
		}
		return nil
	})
	for i, want := range []string{"rule on line 3: deny echo_echo when args.text", "rule on line 3", "rule on line 8", "rule on line 7: deny echo_notes"} {
		if !strings.HasPrefix(why[i], want) {
			t.Errorf("%s, want %s", why[i], want)
		}
	}
}
