// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// The test binary is the plugin, started by hand.
func TestMain(m *testing.M) {
	if os.Getenv("ECHO_BY_HAND") != "" {
		plugin().Serve()
	}
	os.Exit(m.Run())
}

func byHand(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs strings.Builder
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), "ECHO_BY_HAND=1", "TOOLWHARF_PLUGIN=", "GORACE=atexit_sleep_ms=0")
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestToolsByHand(t *testing.T) {
	for _, c := range []struct {
		tool, args     string
		code           int
		stdout, stderr string
	}{
		{"echo", `{"text":"ahoy <&> é"}`, 0, "ahoy <&> é\n", ""},
		{"numbers", `{"value":9007199254740993}`, 0, "{\n  \"value\": 9007199254740993\n}\n", ""},
		{"numbers", `{"value":1.10}`, 0, "{\n  \"value\": 1.10\n}\n", ""},
		{"big", `{"bytes":3}`, 0, "{\n  \"text\": \"xxx\"\n}\n", ""},
		{"crash", `{}`, 3, "", ""},
		{"fail", `{"kind":"denied","code":"no","text":"not you","detail":"why"}`, 1, "", "denied/no: not you\ndetail: why\n"},
		{"fail", `{}`, 1, "", "tool_error/tool_error\n"},
		{"write_note", `{"text":"x"}`, 0, "{\n  \"notes\": 1\n}\n", ""},
		{"notes", `{}`, 0, "{\n  \"notes\": []\n}\n", ""},
		{"danger", `{}`, 0, "{\n  \"notes\": 0\n}\n", ""},
		{"flood", `{"kind":"watch","count":3}`, 0, "{\n  \"said\": 3\n}\n", ""},
		{"learn", `{"name":"new","text":"x"}`, 0, "{}\n", ""},
		{"learn", `{"name":"echo","text":"x"}`, 1, "", "args_invalid/not_learned: tool \"echo\": added twice\n"},
		{"unlearn", `{"kind":"prompt","name":"greet"}`, 0, "{}\n", ""},
	} {
		stdout, stderr, code := byHand(t, "call", c.tool, c.args)
		if code != c.code || stdout != c.stdout || stderr != c.stderr {
			t.Errorf("%s %s: exit code %d\nstdout %q\nstderr %q", c.tool, c.args, code, stdout, stderr)
		}
	}
	if stdout, stderr, code := byHand(t, "call", "sleep", `{"ms":0}`); code != 0 || stdout != "{\n  \"slept_ms\": 0\n}\n" || !strings.Contains(stderr, "sleep begins") {
		t.Errorf("sleep: exit code %d, %q, %q", code, stdout, stderr)
	}
	if _, stderr, code := byHand(t, "call", "notify", `{"data":1.10}`); code != 0 || stderr != "log info 1.10\n" {
		t.Errorf("notify: exit code %d, %q", code, stderr)
	}
	if _, stderr, code := byHand(t, "call", "panic"); code != 1 || !strings.Contains(stderr, "tool_failed/panic\n") {
		t.Errorf("panic: exit code %d, %q", code, stderr)
	}
}

func TestResourcesAndPromptsByHand(t *testing.T) {
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{"read", "echo://about"}, 0, "# Echo\n\nIt gives back what it gets.\n\n", ""},
		{[]string{"read", "echo://pixel"}, 0, "[echo://pixel image/png, 70 bytes]\n", ""},
		{[]string{"read", "echo://notes"}, 0, "{\"notes\":[]}\n", ""},
		{[]string{"read", "echo://repeat/a%2Fb?times=1"}, 0, "a/b\n\n", ""},
		{[]string{"read", "echo://notes/1"}, 1, "", "args_invalid/resource_not_found: there is no resource echo://notes/1\n"},
		{[]string{"read", "echo://notes/one"}, 1, "", "args_invalid/resource_not_found: there is no resource echo://notes/one\n"},
		{[]string{"prompt", "greet", `{"name":"Ada"}`}, 0, "user:\nWrite a warm greeting for Ada.\n", ""},
		{[]string{"prompt", "greet"}, 1, "", "args_invalid/invalid_args: name: must be given\n"},
		{
			[]string{"prompt", "greet_after_asking", "--answers", `{"colour":{"action":"accept","content":{"colour":"red"}}}`},
			0,
			"user:\nWrite a greeting in red.\n", "",
		},
	} {
		stdout, stderr, code := byHand(t, c.args...)
		if code != c.code || stdout != c.stdout || stderr != c.stderr {
			t.Errorf("%q: exit code %d\nstdout %q\nstderr %q", c.args, code, stdout, stderr)
		}
	}
}

func TestCountKnowsItsProcess(t *testing.T) {
	stdout, stderr, code := byHand(t, "call", "count")
	var got countOut
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 {
		t.Fatal(stdout, stderr, err)
	}
	if got.Calls != 1 || got.PID == os.Getpid() {
		t.Errorf("got %s", strconv.Quote(stdout))
	}
}

func TestEffectsAreDeclared(t *testing.T) {
	stdout, _, _ := byHand(t, "describe")
	var got struct {
		Tools []struct{ Name, Effects string }
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"crash": "additive", "append_line": "additive", "append_call": "additive", "write_note": "additive", "write_after_asking": "additive", "danger": "destructive",
		"learn": "additive", "unlearn": "destructive",
	}
	for _, tool := range got.Tools {
		effects := want[tool.Name]
		if effects == "" {
			effects = "read_only"
		}
		if tool.Effects != effects {
			t.Errorf("%s is %s, want %s", tool.Name, tool.Effects, effects)
		}
	}
}
