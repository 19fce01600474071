// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// fleet is a host with many adapters of the echo plugin, half of which have a
// child process of their own. They are called a0, a1 and so on.
type fleet struct {
	*host

	size    int
	plugins string
	file    string // where append_call leaves its lines
	tally   *tally
	tokens  atomic.Int64
	caller  *caller
}

func newFleet(t *testing.T, size int) *fleet {
	t.Helper()
	var yaml strings.Builder
	yaml.WriteString("rules: [{allow: ['*_append_call']}]\nadapters:\n")
	for i := range size {
		plugin := []string{"echo", "parent"}[i%2]
		sandbox := []string{"{allow: {write: [calls]}}", "off"}[i%2]
		fmt.Fprintf(&yaml, "  a%d: {plugin: %s, env: {ECHO_FILE: calls}, limits: {restarts: 1000}, sandbox: %s}\n", i, plugin, sandbox)
	}
	dir, plugins := workspace(t, yaml.String())
	empty(t, filepath.Join(dir, "calls"))
	install(t, "echo", plugins)
	hidden := filepath.Join(plugins, ".sleep")
	if out, err := exec.Command("cp", "/bin/sleep", hidden).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	script(t, plugins, "parent", fmt.Sprintf("%s 1000000 >/dev/null 2>&1 & exec %s", hidden, filepath.Join(plugins, "echo")))
	f := &fleet{host: serve(t, dir), size: size, plugins: plugins, file: filepath.Join(dir, "calls"), tally: newTally()}
	f.caller = f.host.caller()
	eventually(t, "every adapter is ready", func() error {
		for _, a := range f.moored() {
			if a.State != "ready" {
				return fmt.Errorf("%s is %s: %s", a.Name, a.State, a.Cause)
			}
		}
		return nil
	})
	f.expectAll()
	return f
}

// expectAll: each adapter has its process, and nothing else is there.
func (f *fleet) expectAll() {
	f.t.Helper()
	f.expectChildren(f.plugins, f.size, map[string]int{"echo": f.size, ".sleep": f.size / 2})
}

// living are the processes of the adapters at this moment.
func (f *fleet) living() []int {
	var pids []int
	for _, c := range f.children(f.plugins) {
		if c.exe == filepath.Join(f.plugins, "echo") {
			pids = append(pids, c.pid)
		}
	}
	return pids
}

// deed is one call of a kind, with a token that must come back.
type deed struct {
	tool, args string
	effects    bool
	// fits reports whether an answer is that to the token.
	fits func(a answer, token string) bool
}

func deeds() []deed {
	text := func(a answer, token string) bool { return a.ok() && a.text == token }
	return []deed{
		{tool: "echo", args: `{"text":"TOKEN"}`, fits: text},
		{tool: "numbers", args: `{"value":["TOKEN",1.10]}`, fits: func(a answer, token string) bool {
			return a.ok() && a.structured == `{"value":["`+token+`",1.10]}`
		}},
		{tool: "fail", args: `{"kind":"tool_error","text":"TOKEN"}`, fits: func(a answer, token string) bool {
			return a.err == nil && a.kind == "tool_error" && a.text == token
		}},
		{tool: "append_call", args: `{"text":"TOKEN"}`, effects: true, fits: func(a answer, token string) bool {
			return a.ok() && a.structured == `{"text":"`+token+`"}`
		}},
	}
}

// tally is what clients have seen.
type tally struct {
	mu        sync.Mutex
	calls     map[string]int      // by tool and how they ended
	succeeded map[string]bool     // tokens of calls with effects
	begun     map[string]struct{} // tokens of calls with effects, however they ended
	wrong     []string
}

func newTally() *tally {
	return &tally{calls: map[string]int{}, succeeded: map[string]bool{}, begun: map[string]struct{}{}}
}

func (y *tally) take(d deed, token string, a answer) {
	y.mu.Lock()
	defer y.mu.Unlock()
	fits := d.fits(a, token)
	kind := a.kind
	switch {
	case fits:
		kind = "as asked"
	case a.err == nil && a.kind == "adapter_unavailable": // typed: it died twice, or did not start in time
	case a.err == nil && a.kind == "outcome_unknown" && d.effects:
	default:
		y.wrong = append(y.wrong, fmt.Sprintf("%s %s: %v", d.tool, token, a))
	}
	y.calls[d.tool+" "+kind]++
	if d.effects {
		y.begun[token] = struct{}{}
		y.succeeded[token] = fits
	}
}

// besiege lets clients call everything at random until ctx ends, and waits for
// their last answers.
func (f *fleet) besiege(ctx context.Context, clients int) {
	var all sync.WaitGroup
	kinds := deeds()
	for range clients {
		all.Go(func() {
			for ctx.Err() == nil {
				d := kinds[rand.IntN(len(kinds))]
				token := fmt.Sprintf("token-%d", f.tokens.Add(1))
				adapter := rand.IntN(f.size)
				a := f.caller.call(f.t.Context(), fmt.Sprintf("a%d_%s", adapter, d.tool), strings.ReplaceAll(d.args, "TOKEN", token))
				f.tally.take(d, token, a)
			}
		})
	}
	all.Wait()
}

// expectRight: each call was answered, with what it asked for or, if it was hit,
// with what may be said then.
func (f *fleet) expectRight() {
	f.t.Helper()
	wrong := f.tally.wrong
	for _, w := range wrong[:min(len(wrong), 10)] {
		f.t.Error(w)
	}
	if len(wrong) > 10 {
		f.t.Errorf("and %d more", len(wrong)-10)
	}
	for _, d := range deeds() {
		if f.tally.calls[d.tool+" as asked"] == 0 {
			f.t.Errorf("no call of %s ever succeeded: nothing was shown", d.tool)
		}
	}
}

// expectOnce holds what has run, by the plugin's own file, against what clients
// were told and against the ledger.
func (f *fleet) expectOnce() {
	f.t.Helper()
	y := f.tally
	byToken, byCall := map[string]int{}, map[string]int{}
	raw, err := os.ReadFile(f.file)
	if err != nil {
		f.t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		token, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		byToken[token]++
		byCall[id]++
	}
	for token, ok := range y.succeeded {
		if n := byToken[token]; n > 1 || ok && n != 1 {
			f.t.Errorf("%s ran %d times; succeeded: %v", token, n, ok)
		}
	}
	for token := range byToken {
		if _, known := y.begun[token]; !known {
			f.t.Errorf("%q ran and was never called", token)
		}
	}
	rows := f.rows("append_call")
	for id, outcome := range rows {
		n := byCall[id]
		switch {
		case outcome == "ok" && n == 1, outcome == "unknown" && n <= 1, (outcome == "failed" || outcome == "refused") && n == 0:
		default:
			f.t.Errorf("the ledger says of %s %q, and it ran %d times", id, outcome, n)
		}
		delete(byCall, id)
	}
	for id := range byCall {
		f.t.Errorf("%s ran and is not in the ledger", id)
	}
	if len(rows) != len(y.begun) {
		f.t.Errorf("%d calls in the ledger, %d were made", len(rows), len(y.begun))
	}
}

// rows are the outcomes in the ledger of the calls of a tool of whichever
// adapter, by call.
func (f *fleet) rows(tool string) map[string]string {
	f.t.Helper()
	stdout, stderr, code := run(f.t, f.dir, "ledger", "query", "--json")
	if code != 0 {
		f.t.Fatalf("ledger query: exit %d: %s", code, stderr)
	}
	out := map[string]string{}
	for line := range strings.Lines(stdout) {
		var row struct{ Call, Tool, Outcome string }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			f.t.Fatal(err)
		}
		if !strings.HasSuffix(row.Tool, "_"+tool) {
			continue
		}
		if before, twice := out[row.Call]; twice {
			f.t.Errorf("%s is in the ledger twice: %s, %s", row.Call, before, row.Outcome)
		}
		out[row.Call] = row.Outcome
	}
	return out
}

// slay kills each process about once a second, as kill -9 does, until ctx ends.
// It returns how many.
func (f *fleet) slay(ctx context.Context) (slain int) {
	every := time.NewTicker(time.Second / time.Duration(f.size))
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return slain
		}
		if pids := f.living(); len(pids) > 0 && syscall.Kill(pids[rand.IntN(len(pids))], syscall.SIGKILL) == nil {
			slain++
		}
	}
}

func TestUnderStressKilledAdaptersLoseDoubleAndCrossNoAnswer(t *testing.T) {
	f := newFleet(t, 20)
	spell := func(long time.Duration) (slain int) {
		ctx, cancel := context.WithTimeout(t.Context(), long)
		defer cancel()
		dead := make(chan int, 1)
		go func() { dead <- f.slay(ctx) }()
		f.besiege(ctx, 64)
		slain = <-dead
		f.caller.client.CloseIdleConnections()
		f.expectAll()
		return slain
	}
	spell(2 * time.Second) // until all is grown that grows once
	before := f.footprint()
	slain := spell(soaked(10*time.Second, time.Minute))
	f.expectFlat(before)
	t.Logf("%d processes were killed; %v; at rest %+v, before %+v", slain, f.tally.calls, f.footprint(), before)
	if slain < f.size {
		t.Errorf("only %d processes were killed: nothing was shown", slain)
	}
	f.expectRight()
	f.expectOnce()
	f.stop()
	if err := noneOf(f.plugins); err != nil {
		t.Error(err)
	}
}

func TestUnderStressCallsAfterACrashStartOneProcessAndAreAllAnswered(t *testing.T) {
	f := newFleet(t, 2)
	for round := range soaked(10, 100) {
		before := f.moored()["a1"].PID
		if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		pids := make([]int, 20)
		var all sync.WaitGroup
		for i := range pids {
			all.Go(func() {
				a := f.caller.call(t.Context(), "a1_count", `{}`)
				var out struct{ PID int }
				if err := json.Unmarshal([]byte(a.structured), &out); err != nil || !a.ok() {
					t.Errorf("round %d: %v", round, a)
				}
				pids[i] = out.PID
			})
		}
		all.Wait()
		slices.Sort(pids)
		if answered := slices.Compact(pids); len(answered) != 1 || answered[0] == before {
			t.Errorf("round %d: processes %v answered, after %d was killed", round, answered, before)
		}
	}
	f.expectAll()
	if n := strings.Count(f.stderr.String(), `"adapter is ready"`); n != 2+soaked(10, 100) {
		t.Errorf("%d processes were started", n)
	}
}

func TestUnderStressAnAdapterThatCrashesTooOftenFailsItsCallsAtOnceAndIsGivenUp(t *testing.T) {
	dir, plugins := workspace(t, "adapters: {doomed: {plugin: echo, limits: {restarts: 1}}}\n")
	install(t, "echo", plugins)
	install(t, "hello", plugins)
	h := serve(t, dir)
	c := h.caller()
	last := soaked("backing_off", "quarantined") // the pauses in between take a while
	for state := "ready"; state != last; {
		eventually(t, "it has crashed again", func() error {
			a := h.moored()["doomed"]
			if state = a.State; state == "ready" && a.PID > 0 {
				_ = syscall.Kill(a.PID, syscall.SIGKILL)
			}
			if state != "backing_off" && state != "quarantined" {
				return fmt.Errorf("it is %s", state)
			}
			return nil
		})
		a := c.call(t.Context(), "doomed_echo", `{"text":"x"}`)
		if a.ok() && state == "backing_off" {
			continue // the pause was over
		}
		if a.kind != "adapter_unavailable" || !strings.Contains(a.text, "it is "+state) {
			t.Errorf("%s: %v", state, a)
		}
		if a := c.call(t.Context(), "hello_greet", `{"name":"Ada"}`); !a.ok() {
			t.Errorf("another adapter: %v", a)
		}
	}
}
