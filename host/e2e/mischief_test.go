// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// unharmed runs f while a client lists and calls the tools of other adapters, and
// fails the test if it ever misses one of them, or if the host takes more memory
// than it may.
func (h *host) unharmed(t *testing.T, f func()) {
	t.Helper()
	c := h.caller()
	ctx, done := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			who := fmt.Sprintf("Ada %d", n)
			if a := c.call(t.Context(), "hello_greet", fmt.Sprintf(`{"name":%q}`, who)); !a.ok() || !strings.Contains(a.text+a.structured, who) {
				t.Errorf("another adapter: %v", a)
				return
			}
			if a := c.call(t.Context(), "echo_echo", fmt.Sprintf(`{"text":%q}`, who)); !a.ok() || a.text != who {
				t.Errorf("another adapter: %v", a)
				return
			}
			listed, err := c.listed(t.Context())
			if err != nil || !listed["hello_greet"] || !listed["echo_echo"] {
				t.Errorf("tools of other adapters are not listed: %v, %d tools", err, len(listed))
				return
			}
			time.Sleep(10 * time.Millisecond) // and leave the machine to the others
		}
	})
	f()
	done()
	all.Wait()
	most := 640
	if raceEnabled {
		most *= 4 // it has shadows of everything
	}
	if _, peak := h.memory(); peak > most {
		t.Errorf("the host took %d MiB, should never take more than %d", peak, most)
	}
}

func TestUnderStressWhateverAPluginAnswersIsOneCallsFaultAndNoMore(t *testing.T) {
	dir, plugins := workspace(t, "adapters: {m: {plugin: mischief}, late: {plugin: mischief, limits: {timeout: 2s}}}\n")
	install(t, "echo", plugins)
	install(t, "hello", plugins)
	install(t, "mischief", plugins)
	h := serve(t, dir)
	pid := h.moored()["m"].PID
	c := h.caller()
	tryOn := func(adapter, tool, kind, code string) {
		a := c.callWatched(t.Context(), adapter+"_"+tool, `{"text":"mine"}`)
		switch {
		case a.err != nil || a.kind != kind || a.code != code:
			t.Errorf("%s: %v, want %s, %s", tool, a, kind, code)
		case kind == "" && a.text != "mine":
			t.Errorf("%s: the answer is %v", tool, a)
		case len(a.text)+len(a.structured) > 32*kib:
			t.Errorf("%s: the client is told %d bytes", tool, len(a.text)+len(a.structured))
		}
		if a := c.call(t.Context(), adapter+"_token", `{"text":"after it"}`); !a.ok() || a.text != "after it" {
			t.Errorf("after %s: %v", tool, a)
		}
	}
	try := func(tool, kind, code string) { tryOn("m", tool, kind, code) }
	before := len(h.stderr.String())
	h.unharmed(t, func() {
		var late sync.WaitGroup
		late.Go(func() { tryOn("late", "hang", "timeout", "timeout") })
		late.Go(func() { tryOn("late", "forever", "timeout", "timeout") })
		try("twice", "", "")
		try("progress", "", "")
		try("log", "", "")
		try("nothing", "tool_failed", "protocol_violation")
		try("parts", "result_too_large", "result_too_large")
		try("dust", "tool_failed", "plugin")
		try("status", "tool_failed", "plugin")
		try("error", "tool_error", "")
		try("protocol_error", "rpc_error", "")
		try("questions", "tool_failed", "plugin")
		try("state", "tool_failed", "state")
		late.Wait()
	})
	if a := h.moored()["m"]; a.PID != pid || a.State != "ready" {
		t.Errorf("the adapter is %+v, its process was %d", a, pid)
	}
	if n := len(h.stderr.String()) - before; n > mib {
		t.Errorf("the log has grown by %d bytes", n)
	}
	if !strings.Contains(h.stderr.String(), "the message has more than 200000 parts") {
		t.Error("the log does not name what was wrong with the dust")
	}
}

// broken is an adapter that is at fault, each in its own way.
type broken struct {
	name, script string
	state        string // what becomes of it
	shown, log   string // what is said of it
}

func brokenOnes() []broken {
	all := []broken{
		{name: "crashes at its start", script: "echo no such table >&2; exit 3", state: "backing_off", shown: "no such table"},
		{name: "hangs in its start", script: "exec sleep 1000", state: "starting"},
		{name: "has no handshake", script: "echo hello; exec sleep 1000", state: "backing_off", shown: "not the handshake"},
	}
	for _, b := range []broken{
		{name: "floods stdout", state: "ready"},
		{name: "floods stderr", state: "ready"},
		{name: "exits while it is drained", state: "ready"},
		{name: "lists 100000 tools", state: "ready", shown: "tools left out: one adapter may have 1000"},
		{name: "lists 100000 broken tools", state: "ready", shown: "more like these"},
		{name: "has a schema of 50 MiB", state: "backing_off", shown: "received message larger than max"},
		{name: "has a schema of 15 MiB", state: "ready", shown: "larger than 65536 bytes"},
		{name: "has lattices of references", state: "ready", shown: "more than 10000 values once its references are replaced"},
		{name: "lists dust", state: "backing_off", shown: "the message has more than 200000 parts"},
		{name: "has a million warnings", state: "backing_off", shown: "the message has more than 200000 parts"},
		{name: "changes its catalogue wildly", state: "ready"},
		{name: "floods its watch", state: "ready"}, // on a slow machine the host cannot follow fast enough to slow it down
		{name: "floods its watch with notes", state: "ready", log: `"left_out_before":`},
	} {
		b.script = fmt.Sprintf(`MISCHIEF=%q exec "${0%%/*}/mischief"`, b.name)
		all = append(all, b)
	}
	return all
}

// Each is dropped in beside adapters that serve, and taken away again, while it
// is at work if it serves.
func TestUnderStressABrokenAdapterIsBoundedAndNamedAndHidesNoToolOfAnother(t *testing.T) {
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	install(t, "hello", plugins)
	h := serve(t, dir)
	c := h.caller()
	h.unharmed(t, func() {
		for i, b := range brokenOnes() {
			name := fmt.Sprintf("broken%d", i) // what one has shown is remembered
			before := len(h.stderr.String())
			file := wrapped(t, plugins, name, "mischief", b.script)
			eventually(t, "an adapter that "+b.name, func() error {
				a := h.moored()[name]
				shown := strings.Join(append(a.Notes, a.Cause), "\n")
				switch {
				case a.State != b.state || !strings.Contains(shown, b.shown):
					return fmt.Errorf("it is %s: %.500s", a.State, shown)
				case len(shown) > 16*kib:
					return fmt.Errorf("%d bytes are shown of it", len(shown))
				case !strings.Contains(h.stderr.String()[before:], b.log):
					return errors.New("the log does not say so")
				}
				return nil
			})
			ended := make(chan answer, 1)
			if b.state == "ready" {
				go func() { ended <- c.callWatched(t.Context(), name+"_slow", `{"text":"mine"}`) }()
				eventually(t, "the call runs", func() error {
					if a := c.call(t.Context(), name+"_slow_runs", `{}`); a.text != "yes" {
						return errors.New("the plugin does not say so")
					}
					return nil
				})
			}
			if err := os.RemoveAll(file); err != nil {
				t.Fatal(err)
			}
			if b.state == "ready" {
				if a := <-ended; !a.ok() || a.text != "mine" {
					t.Errorf("a call of the adapter that %s, while it is drained: %v", b.name, a)
				}
			}
			eventually(t, "no adapter that "+b.name, func() error {
				if a, there := h.moored()[name]; there {
					return fmt.Errorf("it is %+v", a)
				}
				return nil
			})
			if n := len(h.stderr.String()) - before; n > 4*mib {
				t.Errorf("the log of the adapter that %s has %d bytes", b.name, n)
			}
		}
	})
	h.expectChildren(plugins, 2, map[string]int{"echo": 1, "hello": 1})
}
