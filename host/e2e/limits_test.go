// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// limited is a workspace whose echo may append to lines, without approval. settings
// are of its tools, more is YAML beside.
func limited(t *testing.T, settings, more string) (dir, lines string) {
	t.Helper()
	dir, plugins := workspace(t, `
http: {allow_anonymous: true, listen: "`+freePort(t)+`"}
rules: [{allow: ["*"]}]
adapters:
  echo:
    plugin: echo
    env: {ECHO_FILE: "${LINES}"}
    sandbox: {allow: {write: [lines]}}
    tools: `+settings+"\n"+more)
	install(t, "echo", plugins)
	lines = filepath.Join(dir, "lines")
	empty(t, lines)
	return dir, lines
}

// callIn calls a tool within a run.
func (c *caller) callIn(ctx context.Context, run, tool, args string) answer {
	id := int(c.last.Add(1))
	headers, body := modern(id, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args))
	headers["X-Run-Id"] = run
	return c.post(ctx, id, headers, body)
}

// said is how an answer is counted.
func (a answer) said() string {
	switch {
	case a.err != nil || a.status != http.StatusOK:
		return a.String()
	case a.kind == "" && a.cached:
		return "ok, cached"
	case a.kind == "":
		return "ok"
	default:
		return a.kind + " " + a.code
	}
}

func TestLimitsHoldExactlyUnder64Clients(t *testing.T) {
	t.Parallel()
	dir, lines := limited(t, "{append_line: {cost: 0.25}, echo: {max_calls: 70, cost: 0}, sleep: {once_per_run: true, cost: 0}}", "limits: {budget: 25, max_calls: 1000}\n")
	h := serveWith(t, dir, toolwharf, "LINES="+lines)
	c := h.caller()
	const clients, each = 64, 3
	var mu sync.Mutex
	got := map[string]int{}
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range each {
				for tool, args := range map[string]string{
					"echo_append_line": `{"line":"x","n":1}`, "echo_echo": `{"text":"x"}`, "echo_sleep": `{"ms":0}`,
				} {
					a := c.callIn(t.Context(), "busy", tool, args)
					for a.kind == "rate_limited" { // the queue is full for a moment
						a = c.callIn(t.Context(), "busy", tool, args)
					}
					mu.Lock()
					got[tool+" "+a.said()]++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	const all = clients * each
	want := map[string]int{
		"echo_append_line ok": 100, "echo_append_line budget_exceeded budget": all - 100, // 100 of 0.25 are 25
		"echo_echo ok": 70, "echo_echo budget_exceeded max_calls": all - 70,
		"echo_sleep ok": 1, "echo_sleep budget_exceeded once_per_run": all - 1,
	}
	if !maps.Equal(want, got) {
		t.Errorf("got %v, want %v", got, want)
	}
	if n := len(ran(t, lines)); n != 100 {
		t.Errorf("it ran %d times", n)
	}
	stdout, stderr, code := run(t, dir, "runs", "list", "--json")
	if code != 0 || !strings.Contains(stdout, `"cost": "25"`) && !strings.Contains(stdout, `"cost":"25"`) {
		t.Errorf("runs list: exit %d: %s%s", code, stdout, stderr)
	}
	if a := c.callIn(t.Context(), "another", "echo_append_line", `{"line":"y","n":1}`); !a.ok() {
		t.Errorf("another run: %v", a)
	}
}

func TestWhatHasBegunIsCountedAlsoIfTheHostIsKilledThen(t *testing.T) {
	t.Parallel()
	program := crashing()
	for point, want := range map[string]string{
		"judged": "ok", // nothing had left the host
		"begun":  "budget_exceeded once_per_run", "sent": "budget_exceeded once_per_run", "ended": "budget_exceeded once_per_run",
	} {
		for _, of := range []struct{ tool, args string }{
			{"echo_append_line", `{"line":"x","n":1}`}, {"echo_echo", `{"text":"x"}`}, // of the latter no intent is kept
		} {
			t.Run(point+" "+of.tool, func(t *testing.T) {
				t.Parallel()
				dir, lines := limited(t, "{append_line: {once_per_run: true}, echo: {once_per_run: true}}", "")
				doomed := serveWith(t, dir, program, "LINES="+lines, "CRASH_AT="+point)
				if a := doomed.caller().callIn(t.Context(), "r", of.tool, of.args); a.err == nil {
					t.Fatalf("the host was not killed: %v", a)
				}
				eventually(t, "the host is gone", func() error { return gone(doomed.cmd.Process.Pid) })
				h := serveWith(t, dir, program, "LINES="+lines)
				if got := h.caller().callIn(t.Context(), "r", of.tool, of.args).said(); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			})
		}
	}
}

func TestRatesAndAdmissionTellWhenToComeAgainAndAReloadFillsNoBucket(t *testing.T) {
	t.Parallel()
	dir, lines := limited(t, "{echo: {rate: 2/d}}", "limits: {admission: 6/d}\n")
	h := serveWith(t, dir, toolwharf, "LINES="+lines)
	c := h.caller()
	say := func() string { return c.call(t.Context(), "echo_echo", `{"text":"x"}`).said() }
	for i, want := range []string{"ok", "ok", "rate_limited tool_rate"} {
		if got := say(); got != want {
			t.Errorf("call %d: %s, want %s", i+1, got, want)
		}
	}
	stdout, stderr, code := run(t, dir, "explain", "echo_echo", "--args", `{"text":"x"}`, "--json")
	if code != 0 || !strings.Contains(stdout, "tool_rate") {
		t.Errorf("explain: exit %d: %s%s", code, stdout, stderr)
	}
	h.rewrite(replaces("2/d", "3/d"))
	h.reloads(1)
	for i, want := range []string{"rate_limited tool_rate", "rate_limited tool_rate", "rate_limited tool_rate", "rate_limited admission"} {
		if got := say(); got != want {
			t.Errorf("call %d after the reload: %s, want %s", i+1, got, want)
		}
	}
	headers, body := modern(99, "tools/call", "echo_echo", `"name":"echo_echo","arguments":{"text":"x"}`)
	_, raw, err := c.exchange(t.Context(), headers, body)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), `"toolwharf/retry_after_ms":`) {
		t.Errorf("it does not say when to come again: %s", raw)
	}
}

func TestTheLimitsPageWorksAsItStandsThere(t *testing.T) {
	t.Parallel()
	const page = "../../docs/limits.md"
	yaml, commands := blocksOf(t, page, "yaml"), commandsOf(t, page)
	if len(yaml) != 1 || len(commands) != 1 {
		t.Fatalf("the page has %d blocks of YAML and the commands %q", len(yaml), commands)
	}
	dir, plugins := workspace(t, "")
	text := strings.Replace(yaml[0], "    tools:\n", "    env: {ECHO_FILE: \"${LINES}\"}\n    sandbox: {allow: {write: [lines]}}\n    tools:\n", 1) +
		"rules: [{allow: [\"*\"]}]\nhttp: {allow_anonymous: true, listen: \"" + freePort(t) + "\"}\n"
	if err := os.WriteFile(filepath.Join(dir, "toolwharf.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	install(t, "echo", plugins)
	lines := filepath.Join(dir, "lines")
	empty(t, lines)
	h := serveWith(t, dir, toolwharf, "LINES="+lines)
	c := h.caller()
	for _, one := range []struct{ tool, args, want string }{
		{"echo_echo", `{"text":"x"}`, "ok"},
		{"echo_echo", `{"text":"x"}`, "ok, cached"},
		{"echo_echo", `{"text":"y"}`, "ok"},
		{"echo_append_line", `{"line":"x","n":1}`, "ok"},
		{"echo_append_line", `{"line":"y","n":1}`, "budget_exceeded once_per_run"},
		{"echo_echo", `{"text":"x"}`, "ok"}, // the adapter's data has changed
		{"echo_echo", `{"text":"x"}`, "ok, cached"},
		{"echo_sleep", `{"ms":0}`, "ok"},
		{"echo_sleep", `{"ms":0}`, "ok"},
		{"echo_sleep", `{"ms":0}`, "rate_limited tool_rate"},
	} {
		if got := c.callIn(t.Context(), "page", one.tool, one.args).said(); got != one.want {
			t.Errorf("%s %s: %s, want %s", one.tool, one.args, got, one.want)
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", commands[0])
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(toolwharf)+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "it may be called 2/m") {
		t.Errorf("%s: %v\n%s", commands[0], err, out)
	}
	eventually(t, "what was answered by the cache is recorded", func() error {
		stdout, _, _ := run(t, dir, "ledger", "query", "--tool", "echo_echo", "--json")
		if n := strings.Count(stdout, `"gate":"cache"`); n != 2 {
			return fmt.Errorf("%d such rows in\n%s", n, stdout)
		}
		return nil
	})
}

func TestEqualCallsOf64ClientsReachTheAdapterOnce(t *testing.T) {
	t.Parallel()
	dir, lines := limited(t, "{sleep: {cache: 1h}}", "limits: {cache: 1MiB}\n")
	h := serveWith(t, dir, toolwharf, "LINES="+lines)
	c := h.caller()
	var mu sync.Mutex
	got := map[string]int{}
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			said := c.call(t.Context(), "echo_sleep", `{"ms":300}`).said()
			mu.Lock()
			defer mu.Unlock()
			got[said]++
		})
	}
	wg.Wait()
	if want := map[string]int{"ok": 1, "ok, cached": 63}; !maps.Equal(want, got) {
		t.Errorf("got %v, want %v", got, want)
	}
}
