// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// talkative installs a plugin that says things on stderr before it serves.
func talkative(t *testing.T, plugins string, lines ...string) {
	t.Helper()
	var says strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&says, "echo '%s' >&2\n", l)
	}
	wrapped(t, plugins, "chatty", "hello", says.String()+`exec "${0%/*}/hello"`)
}

func TestWhatAPluginLogsIsLoggedAsItsOwnAndCanBeAskedFor(t *testing.T) {
	t.Parallel()
	const secret = "correct-horse-battery"
	dir, plugins := workspace(t, `
adapters:
  chatty: {plugin: chatty, env: {TOKEN: "${E2E_LOG_SECRET}"}}
`)
	talkative(t, plugins, `{"@level":"warn","@message":"slow","rows":3,"in":{"table":"t"}}`, "my token is "+secret, "[ERROR] no luck")
	h := serveWith(t, dir, toolwharf, "E2E_LOG_SECRET="+secret)

	var logged map[string]any
	for line := range strings.Lines(h.stderr.String()) {
		if strings.Contains(line, `"slow"`) {
			if err := json.Unmarshal([]byte(line), &logged); err != nil {
				t.Fatal(err)
			}
		}
	}
	if logged["@level"] != "warn" || logged["@module"] != "toolwharf.adapter.chatty" || logged["rows"] != 3.0 || fmt.Sprint(logged["in"]) != "map[table:t]" {
		t.Errorf("logged as %v", logged)
	}
	stdout, stderr, code := run(t, dir, "adapters", "logs", "chatty", "--json")
	type line struct {
		Level, Message string
		Attributes     json.RawMessage
	}
	var got []line
	for text := range strings.Lines(stdout) {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatal(err)
		}
		got = append(got, l)
	}
	if code != 0 || len(got) < 3 || got[0].Level != "warn" || string(got[0].Attributes) != `{"in":{"table":"t"},"rows":3}` ||
		got[1].Level != "debug" || got[1].Message != "my token is [redacted]" || got[2].Level != "error" || got[2].Message != "no luck" {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	if strings.Contains(h.stderr.String(), secret) {
		t.Error("the secret is in the log")
	}
	stdout, _, code = run(t, dir, "adapters", "logs", "chatty", "-n", "1000")
	if code != 0 || !strings.Contains(stdout, ` WARN  slow in={"table":"t"} rows=3`+"\n") {
		t.Errorf("exit %d: %s", code, stdout)
	}
	if stdout, _, code := run(t, dir, "adapters", "logs", "chatty", "-n", "1"); code != 0 || strings.Count(stdout, "\n") != 1 {
		t.Errorf("exit %d: %s", code, stdout)
	}
	for _, tc := range []struct {
		args []string
		code int
	}{{[]string{"nobody"}, 4}, {[]string{"chatty", "-n", "-1"}, 2}, {[]string{"chatty", "-n", "1001"}, 2}, {nil, 2}} {
		if _, stderr, code := run(t, dir, append([]string{"adapters", "logs"}, tc.args...)...); code != tc.code || stderr == "" {
			t.Errorf("%v: exit %d: %s", tc.args, code, stderr)
		}
	}
}

func TestALogIsFollowedThroughARestartUntilCtrlCOrTheHostEnds(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	talkative(t, plugins, "hello")
	h := serve(t, dir)
	follow := func() (*exec.Cmd, *buffer, *buffer) {
		var out, errs buffer
		cmd := exec.Command(toolwharf, "adapters", "logs", "chatty", "--follow")
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		eventually(t, "the first line", func() error { return holds(&out, "hello", 1) })
		return cmd, &out, &errs
	}
	cmd, out, _ := follow()
	if _, stderr, code := run(t, dir, "adapters", "restart", "chatty"); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	eventually(t, "the second line", func() error { return holds(out, "hello", 2) })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
	cmd, _, errs := follow()
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 3 || !strings.Contains(errs.String(), "no running host") {
		t.Errorf("after the end of the host: exit %d: %s", cmd.ProcessState.ExitCode(), errs)
	}
	if _, stderr, code := run(t, dir, "adapters", "logs", "chatty"); code != 3 || !strings.Contains(stderr, "no running host") {
		t.Errorf("without a host: exit %d: %s", code, stderr)
	}
}

// holds reports, as an error, that a text has fewer of the words.
func holds(b *buffer, word string, times int) error {
	if n := strings.Count(b.String(), word); n < times {
		return fmt.Errorf("%d times: %s", n, b)
	}
	return nil
}

func TestAPluginThatFloodsItsLogHoldsNobodyUp(t *testing.T) { // not parallel: it loads the machine
	dir, plugins := workspace(t, "")
	wrapped(t, plugins, "floods", "hello", `/usr/bin/yes "`+strings.Repeat("a line of its log ", 100)+`" >&2 & exec "${0%/*}/hello"`)
	h := serve(t, dir)
	h.logs("toolwharf.adapter.floods", "warn", "log lines were dropped: more than 256 KiB came within a second", `"lines":`)
	stdout, stderr, code := run(t, dir, "adapters", "logs", "floods", "-n", "1000") // what it wrote last; the warning is soon out of it
	if code != 0 || !strings.Contains(stdout, "a line of its log") || len(stdout) > 256<<10 {
		t.Errorf("exit %d: %s%d bytes, %.100q", code, stderr, len(stdout), stdout)
	}
	if a := h.adapters()["floods"]; a.State != "ready" {
		t.Errorf("it is %+v", a)
	}
}
