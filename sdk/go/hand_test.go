// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// byHand runs a plugin as a person would.
func byHand[S any](t *testing.T, p *Plugin[S], stdin string, args ...string) (code int, out, err string) {
	t.Helper()
	var stdout, stderr strings.Builder
	h := &hand{core: p.core, in: strings.NewReader(stdin), out: &stdout, err: &stderr, getenv: func(name string) string {
		return map[string]string{"GREETING": "Ahoy", "TOKEN": "s3cret"}[name]
	}}
	code = h.run(args)
	return code, stdout.String(), stderr.String()
}

func hello() *Plugin[None] {
	p := NewStateless(Info{Name: "hello", Version: "1.2.3", Description: "Greets."})
	AddFunc(p, "greet", func(_ context.Context, in struct {
		Name string `json:"name"`
	},
	) (string, error) {
		return "Hello, " + in.Name, nil
	}, ReadOnly(), Idempotent(), Confirm(false), Title("Greet"), LenientArgs(), Tags("a", "b"), Description("Greet somebody.\nPolitely."))
	AddFunc(p, "numbers", func(_ context.Context, in numbers) (numbers, error) { return in, nil })
	AddFunc(p, "blocks", func(context.Context, struct{}) (Result, error) {
		return Result{Content: []Content{
			Text("text"), Image([]byte{1}, "image/png"), Audio([]byte{1, 2}, "audio/wav"), Link("x:y", "n", ""),
			EmbedText("x:z", "text/plain", "body"), Embed("x:b", "", []byte{1}),
		}}, nil
	})
	AddFunc(p, "fail", func(ctx context.Context, _ struct{}) (struct{}, error) {
		Progress(ctx, 1, 3, "failing")
		return struct{}{}, Retryable(NotFound("gone", "no such thing").Because(errors.New("row 7")), time.Second)
	}, InputSchema(json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)))
	return p
}

func TestAPluginThatIsStartedByHandIntroducesItself(t *testing.T) {
	code, out, err := byHand(t, hello(), "")
	if code != 1 || out != "" {
		t.Errorf("exit code %d, stdout %q", code, out)
	}
	for _, want := range []string{
		"hello 1.2.3 is a Toolwharf plugin", "Greets.", "greet ", "Greet somebody.\n", "plugins.dirs", "needs no configuration", "hello describe", "hello call TOOL",
	} {
		if !strings.Contains(err, want) {
			t.Errorf("missing %q in\n%s", want, err)
		}
	}
	if _, _, err := byHand(t, harbour(), ""); !strings.Contains(err, "needs no configuration") {
		t.Errorf("every field of harbour's configuration is optional:\n%s", err)
	}
	if _, _, err := byHand(t, demanding(), ""); !strings.Contains(err, "plugin: demanding") {
		t.Errorf("no adapter in\n%s", err)
	}
}

func demanding() *Plugin[None] {
	type config struct {
		Key Secret `json:"key"`
	}
	p := New(Info{Name: "demanding"}, func(context.Context, config) (*None, error) { return new(None), nil })
	AddFunc(p, "nothing", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, nil })
	return p
}

func TestDescribeByHand(t *testing.T) {
	code, out, err := byHand(t, hello(), "", "describe")
	if code != 0 || err != "" {
		t.Fatalf("exit code %d, stderr %q", code, err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	tools := got["tools"].([]any)
	got["tools"] = len(tools)
	want := map[string]any{
		"name": "hello", "version": "1.2.3", "description": "Greets.", "features": []any{"tools"}, "tools": 4,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	want = map[string]any{
		"name": "greet", "title": "Greet", "description": "Greet somebody.\nPolitely.", "effects": "read_only", "idempotent": true,
		"confirm": false, "lenient_args": true, "tags": []any{"a", "b"},
		"input_schema": map[string]any{
			"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
			"required": []any{"name"}, "additionalProperties": false,
		},
		"output_schema": map[string]any{"type": "string"},
	}
	if diff := cmp.Diff(want, tools[0]); diff != "" {
		t.Error(diff)
	}
}

func TestDescribeByHandGivesToolsOnceTheConfigurationIsKnown(t *testing.T) {
	tools := func(args ...string) (int, bool, string) {
		code, out, err := byHand(t, demanding(), "", append([]string{"describe"}, args...)...)
		return code, strings.Contains(out, `"nothing"`), err
	}
	if code, found, _ := tools(); code != 0 || found {
		t.Errorf("without: exit code %d, tools %v", code, found)
	}
	if code, found, err := tools("--config", `{"key":"${TOKEN}"}`); code != 0 || !found {
		t.Errorf("with: exit code %d, tools %v, %s", code, found, err)
	}
	if code, _, err := tools("--config={}"); code != 1 || !strings.Contains(err, "key") {
		t.Errorf("with a wrong one: exit code %d, %s", code, err)
	}
	if code, _, err := tools("--config", `{"key":"${NIX} ${NUX}"}`); code != 1 || !strings.Contains(err, "not in the environment: NIX, NUX") {
		t.Errorf("with a missing secret: exit code %d, %s", code, err)
	}
}

func TestCallByHand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "args.json")
	if err := os.WriteFile(file, []byte(`{"name":"File"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args     []string
		stdin    string
		code     int
		out, err string
	}{
		{args: []string{"call", "greet", `{"name":"Ada"}`}, out: "\"Hello, Ada\"\n"},
		{args: []string{"call", "greet", "@" + file}, out: "\"Hello, File\"\n"},
		{args: []string{"call", "greet", "-"}, stdin: `{"name":"Stdin"}`, out: "\"Hello, Stdin\"\n"},
		{
			args: []string{"call", "numbers", `{"id":9007199254740993,"value":[1.10]}`},
			out:  "{\n  \"id\": 9007199254740993,\n  \"value\": [\n    1.10\n  ]\n}\n",
		},
		{
			args: []string{"call", "blocks"},
			out:  "text\n[image image/png, 1 bytes]\n[audio audio/wav, 2 bytes]\n[link x:y]\n[resource x:z]\nbody\n[resource x:b]\n\n",
		},
		{
			args: []string{"call", "fail"}, code: 1,
			err: "progress 1 of 3 failing\ntool_error/gone: no such thing\ndetail: row 7\nretry after: 1s\n",
		},
		{args: []string{"call", "nix"}, code: 1, err: "hello: no tool \"nix\"\n"},
		{args: []string{"call", "greet", `{"nme":1}`}, code: 1, err: "hello: arguments of greet: "},
		{args: []string{"call", "fail", `{"a":"x"}`}, code: 1, err: "hello: arguments of fail: "},
		{args: []string{"call", "greet", `{`}, code: 1, err: "hello: arguments of greet: not JSON: {\n"},
		{args: []string{"call", "greet", "@/nowhere"}, code: 1, err: "hello: arguments of greet: open /nowhere"},
		{args: []string{"call", "greet", `{"name":"x"}`, "--config", `{"a":1}`}, code: 1, err: "hello: config: error: this plugin takes no configuration\n"},
		{args: []string{"--version"}, out: "hello 1.2.3\n"},
		{args: []string{"--help"}, out: "usage:"},
		{args: []string{"help"}, out: "usage:"},
		{args: []string{"call"}, code: 2, err: "hello: unknown command: call\nusage:"},
		{args: []string{"describe", "--config"}, code: 2, err: "hello: --config needs a value\nusage:"},
		{args: []string{"describe", "--nix"}, code: 2, err: "hello: unknown flag --nix\nusage:"},
	} {
		code, out, err := byHand(t, hello(), c.stdin, c.args...)
		if code != c.code || !strings.HasPrefix(out, c.out) || (c.out == "") != (out == "") || !strings.HasPrefix(err, c.err) || (c.err == "") != (err == "") {
			t.Errorf("%q: exit code %d\nstdout %q\nstderr %q", c.args, code, out, err)
		}
	}
}

func TestQuestionsByHand(t *testing.T) {
	call := func(args ...string) (int, string, string) {
		code, out, err := byHand(t, harbour(), "", append([]string{"call", "moor"}, args...)...)
		var said []string // without the log
		for line := range strings.Lines(err) {
			if !strings.HasPrefix(line, "time=") {
				said = append(said, line)
			}
		}
		return code, out, strings.Join(said, "")
	}
	code, out, err := call()
	var asked struct {
		Requests map[string]struct {
			Method string
			Params map[string]any
		}
		State string
	}
	if json.Unmarshal([]byte(out), &asked) != nil || code != 1 {
		t.Fatalf("exit code %d, %s", code, out)
	}
	if asked.Requests["berth"].Params["message"] != "Where to?" || asked.Requests["roots"].Method != "roots/list" || asked.State != "MQ==" {
		t.Errorf("got %s", out)
	}
	const note = `harbour: moor asks before it goes on; do it again with the same arguments and ` +
		`--answers '{KEY: {"action": "accept", "content": {...}}}' and --state with the state above` + "\n"
	if err != note {
		t.Errorf("stderr %q", err)
	}
	code, out, err = call("{}", "--state", asked.State, "--answers", `{"berth":{"action":"accept","content":{"number":9007199254740993}}}`)
	if code != 0 || !strings.Contains(out, `"number": 9007199254740993`) || !strings.Contains(out, `"round": 1`) || err != "" {
		t.Errorf("exit code %d, %s, %s", code, out, err)
	}
	if code, out, err = call(`--answers={"berth":{"action":"cancel"}}`); code != 1 || out != "" || err != "tool_error/not_moored: the user chose to cancel\n" {
		t.Errorf("exit code %d, %q, %q", code, out, err)
	}
	if code, out, err = call(`{"state_bytes":40000}`); code != 1 || out != "" || !strings.HasPrefix(err, "tool_failed/state_too_large\ndetail: ") {
		t.Errorf("exit code %d, %q, %q", code, out, err)
	}
	for want, args := range map[string][]string{
		"harbour: --answers: not JSON: {\n":                {"--answers", "{"},
		"harbour: --answers: not an object with an answer": {"--answers", "[]"},
		"harbour: --answers: not an object with an":        {"--answers", "null"},
		"harbour: --state: illegal base64":                 {"--state", "%"},
	} {
		if code, _, err := call(args...); code != 1 || !strings.HasPrefix(err, want) {
			t.Errorf("%q: exit code %d, %q", args, code, err)
		}
	}
	if code, _, err := byHand(t, harbour(), "", "describe", "--state", "MQ=="); code != 2 || !strings.Contains(err, "are for call") {
		t.Errorf("exit code %d, %q", code, err)
	}
	if code, _, err := byHand(t, harbour(), "", "call", "hail", `{"Level":"notice"}`); code != 0 || !strings.Contains(err, "\nlog notice {\"ahoy\":\"notice\"}\n") {
		t.Errorf("exit code %d, %q", code, err)
	}
}

func TestCallByHandOpensAndClosesTheState(t *testing.T) {
	code, out, err := byHand(t, harbour(), "", "call", "greet", `{"name":"Ada"}`, "--config", `{"greeting":"${GREETING}","token":"${TOKEN}"}`)
	if code != 0 || !strings.Contains(out, "Ahoy, Ada!") {
		t.Errorf("exit code %d, %s", code, out)
	}
	if !strings.Contains(err, "msg=closed") || strings.Contains(err, "s3cret") {
		t.Errorf("stderr: %s", err)
	}
	code, _, err = byHand(t, harbour(), "", "call", "greet", `{"name":"Ada"}`, "--config", `{"greeting":"refuse"}`)
	if code != 1 || err != "harbour: config: error: /greeting: refused: choose another\nharbour: config: error: and so on\n" {
		t.Errorf("exit code %d, %q", code, err)
	}
	_, _, err = byHand(t, harbour(), "", "call", "greet", `{"name":"Ada"}`, "--config", `{"greeting":"Hi"}`)
	if !strings.Contains(err, "config: warning: /greeting: rather short\n") {
		t.Errorf("%q", err)
	}
}

func TestAConfigSchemaThatWasGivenIsUsed(t *testing.T) {
	type node struct {
		Name string `json:"name"`
		Kids []node `json:"kids"`
	}
	given := `{"type":"object","properties":{"name":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#"}}},"required":["name"]}`
	p := New(Info{Name: "tree"}, func(_ context.Context, n node) (*node, error) { return &n, nil }, ConfigSchema(json.RawMessage(given)))
	AddTool(p, "depth", func(n *node, _ context.Context, _ struct{}) (int, error) { return len(n.Kids[0].Kids), nil })
	if len(p.core.faults) > 0 || string(p.core.describe().GetConfigSchema()) != given {
		t.Errorf("got %v, %s", p.core.faults, p.core.describe().GetConfigSchema())
	}
	code, out, err := byHand(t, p, "", "call", "depth", "--config", `{"name":"a","kids":[{"name":"b","kids":[{"name":"c"}]}]}`)
	if code != 0 || out != "1\n" {
		t.Errorf("exit code %d, %q, %s", code, out, err)
	}
	if code, _, _ := byHand(t, p, "", "call", "depth", "--config", `{"kids":[]}`); code != 1 {
		t.Errorf("exit code %d", code)
	}
	if p := New(Info{Name: "tree"}, func(_ context.Context, n node) (*node, error) { return &n, nil }); len(p.core.faults) != 1 {
		t.Errorf("got %v", p.core.faults)
	}
}

func TestExpandKeepsNumbersAndPlainDollars(t *testing.T) {
	got, err := expand([]byte(`{"a":[9007199254740993,1.10],"b":"$X ${open ${A}${A}","c":null}`), func(string) string { return `q"` })
	if err != nil || string(got) != `{"a":[9007199254740993,1.10],"b":"$X q\"q\"","c":null}` {
		// ${open ${A} is one reference with a strange name
		t.Errorf("got %s, %v", got, err)
	}
}
