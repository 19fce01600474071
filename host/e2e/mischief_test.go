// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

func TestUnderStressWhateverAPluginListsOrFloodsIsBoundedAndNamed(t *testing.T) {
	says := map[string]struct{ ready, inShow, inLog string }{
		"floods stdout":                {ready: "yes"},
		"lists 100000 tools":           {ready: "yes", inShow: "tools left out: one adapter may have 1000"},
		"lists 100000 broken tools":    {ready: "yes", inShow: "more like these"},
		"has a schema of 50 MiB":       {inShow: "received message larger than max"},
		"has a schema of 15 MiB":       {ready: "yes", inShow: "larger than 65536 bytes"},
		"has lattices of references":   {ready: "yes", inShow: "more than 10000 values once its references are replaced"},
		"lists dust":                   {inShow: "the message has more than 200000 parts"},
		"changes its catalogue wildly": {ready: "yes", inLog: "changes its catalogue too often"},
		"floods its watch":             {ready: "yes", inLog: "changes its catalogue too often"},
		"floods its watch with notes":  {ready: "yes", inLog: `"left_out_before":`},
		"has a million warnings":       {inShow: "the message has more than 200000 parts"},
		"exits while it is drained":    {ready: "yes"},
	}
	yaml, adapters := "adapters:\n", map[string]string{}
	for mischief := range says {
		name := fmt.Sprintf("m%d", len(adapters))
		adapters[mischief] = name
		yaml += fmt.Sprintf("  %s: {plugin: mischief, env: {MISCHIEF: %q}}\n", name, mischief)
	}
	dir, plugins := workspace(t, yaml)
	install(t, "echo", plugins)
	install(t, "hello", plugins)
	install(t, "mischief", plugins)
	h := serve(t, dir)
	c := h.caller()
	h.unharmed(t, func() {
		for mischief, want := range says {
			name := adapters[mischief]
			eventually(t, mischief, func() error {
				a := h.moored()[name]
				shown := strings.Join(append(a.Notes, a.Cause), "\n")
				switch {
				case !strings.Contains(shown, want.inShow):
					return fmt.Errorf("it is shown as %.500s", shown)
				case len(shown) > 16*kib:
					return fmt.Errorf("%d bytes are shown of it", len(shown))
				case !strings.Contains(h.stderr.String(), want.inLog):
					return errors.New("the log does not say so")
				}
				return nil
			})
			if want.ready == "" {
				continue
			}
			if a := c.call(t.Context(), name+"_token", `{"text":"mine"}`); !a.ok() || a.text != "mine" {
				t.Errorf("the adapter that %s does not serve: %v", mischief, a)
			}
		}
	})
	if n := len(h.stderr.String()); n > 4*mib {
		t.Errorf("the log has %d bytes", n)
	}
	h.stop()
	if err := noneOf(plugins); err != nil {
		t.Error(err)
	}
}

// Each is dropped in beside adapters that serve, and taken away again.
func TestUnderStressABrokenAdapterNeverHidesTheToolsOfAnother(t *testing.T) {
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	install(t, "hello", plugins)
	acts := func(mischief string) string {
		return fmt.Sprintf("MISCHIEF=%q exec %s", mischief, filepath.Join(built, "examples", "mischief"))
	}
	h := serve(t, dir)
	c := h.caller()
	h.unharmed(t, func() {
		for _, broken := range []struct{ name, text, state string }{
			{"crashes at its start", "exit 3", "backing_off"},
			{"hangs in its start", "exec sleep 1000", "starting"},
			{"has no handshake", "echo hello; exec sleep 1000", "backing_off"},
			{"has a bad catalogue", acts("lists 100000 broken tools"), "ready"},
			{"has no catalogue", acts("lists dust"), "backing_off"},
			{"changes its catalogue wildly", acts("changes its catalogue wildly"), "ready"},
			{"exits while it is drained", acts("exits while it is drained"), "ready"},
			{"floods its output", acts("floods stdout"), "ready"},
		} {
			file := script(t, plugins, "broken", broken.text)
			eventually(t, "an adapter that "+broken.name, func() error {
				if a := h.moored()["broken"]; a.State != broken.state {
					return fmt.Errorf("it is %+v", a)
				}
				return nil
			})
			ended := make(chan answer, 1)
			if broken.state == "ready" { // and at work while it is taken away
				before := strings.Count(h.stderr.String(), "progress begins")
				go func() { ended <- c.callWatched(t.Context(), "broken_progress", `{"text":"mine"}`) }()
				eventually(t, "the call runs", func() error {
					if strings.Count(h.stderr.String(), "progress begins") == before {
						return errors.New("the plugin has not said so")
					}
					return nil
				})
			}
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if broken.state == "ready" {
				if a := <-ended; !a.ok() || a.text != "mine" {
					t.Errorf("a call of the adapter that %s, while it is drained: %v", broken.name, a)
				}
			}
			eventually(t, "no adapter that "+broken.name, func() error {
				if a, there := h.moored()["broken"]; there {
					return fmt.Errorf("it is %+v", a)
				}
				return nil
			})
		}
	})
	h.expectChildren(plugins, 2, map[string]int{"echo": 1, "hello": 1})
}
