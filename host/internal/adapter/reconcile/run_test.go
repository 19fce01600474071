// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
)

func TestADropInIsServedAsLongAsItsFileIsThere(t *testing.T) {
	dir := directory(t)
	f := newFixture(nil, dir)
	f.runs(t)
	drop(t, dir, "echo", "1")
	until(t, "echo is ready", func() bool { return f.state("echo") == adapter.Ready })
	remove(t, dir, "echo")
	until(t, "echo is gone", func() bool { return f.state("echo") == "" && f.launcher.of("echo")[0].over() })
	drop(t, dir, "echo", "1")
	until(t, "echo is ready again", func() bool { return f.state("echo") == adapter.Ready })
}

func TestADropInThatReappearsAtOnceIsServedAgain(t *testing.T) {
	dir := directory(t)
	f := newFixture(nil, dir)
	f.runs(t)
	drop(t, dir, "echo", "1")
	until(t, "echo is ready", func() bool { return f.state("echo") == adapter.Ready })
	for range 5 {
		remove(t, dir, "echo")
		drop(t, dir, "echo", "1")
	}
	drop(t, dir, "echo", "last")
	until(t, "the last one is ready", func() bool {
		all := f.launcher.of("echo")
		last := all[len(all)-1]
		info, err := os.Stat(dir + "/echo")
		return err == nil && f.state("echo") == adapter.Ready && !last.over() && strings.HasPrefix(last.desired.Program.Stamp, "4-") && info.Size() == 4
	})
}

// A plugin that is updated is listed all the time.
func TestAnUpdateIsASwapWithoutAGap(t *testing.T) {
	dir := directory(t)
	drop(t, dir, "echo", "1")
	f := newFixture(nil, dir)
	f.runs(t)
	until(t, "echo is ready", func() bool { return f.state("echo") == adapter.Ready })

	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for s := range f.registry.Changes(ctx) {
			if _, ok := s.Find("echo_get"); !ok {
				t.Error("while it was updated its tool was not listed")
			}
		}
	}()
	drop(t, dir, "echo", "22")
	until(t, "the new one serves and the old one is drained", func() bool {
		all := f.launcher.of("echo")
		return len(all) == 2 && all[0].over() && f.state("echo") == adapter.Ready
	})
	cancel()
	<-watched
}

func TestANamedAdapterWaitsForItsPluginInRealDirectories(t *testing.T) {
	dir, other := directory(t), directory(t)
	f := newFixture([]Adapter{{Name: "orders", Plugin: "sql", Prefix: "orders_", Config: map[string]any{}, Limits: limits}}, dir, other)
	f.runs(t)
	want := "there is no plugin sql in " + dir + ", " + other
	until(t, want, func() bool { s := f.status("orders"); return s.State == adapter.Waiting && s.Cause == want })
	drop(t, other, "sql", "1")
	until(t, "orders is ready", func() bool { return f.state("orders") == adapter.Ready })
	remove(t, other, "sql")
	until(t, want, func() bool { s := f.status("orders"); return s.State == adapter.Waiting && s.Cause == want })
}

func TestASecretThatComesLaterIsPickedUp(t *testing.T) {
	dir := directory(t)
	drop(t, dir, "sql", "1")
	f := newFixture([]Adapter{{Name: "orders", Plugin: "sql", Prefix: "orders_", Config: map[string]any{"dsn": "${DSN}"}, Limits: limits}}, dir)
	f.runs(t)
	until(t, "orders waits", func() bool { return f.state("orders") == adapter.Waiting && f.Tried() })
	f.secrets.set("DSN", "db://x")
	until(t, "orders is ready", func() bool { return f.state("orders") == adapter.Ready })
}

func TestAwaitTriedReturnsOnceEachAdapterWasTried(t *testing.T) {
	dir := directory(t)
	drop(t, dir, "echo", "1")
	f := newFixture([]Adapter{{Name: "orders", Plugin: "sql", Prefix: "orders_", Config: map[string]any{}, Limits: limits}}, dir)
	f.launcher.starting = make(chan struct{})

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := f.AwaitTried(ctx); err == nil || !strings.Contains(err.Error(), "looking for plugins") || f.Tried() {
		t.Errorf("before it looks: %v", err)
	}
	f.runs(t)
	until(t, "echo starts", func() bool { return f.state("echo") == adapter.Starting })
	ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := f.AwaitTried(ctx); err == nil || !strings.Contains(err.Error(), "adapter echo is still starting") || f.Tried() {
		t.Errorf("while one of them starts: %v", err)
	}
	close(f.launcher.starting)
	ctx, cancel = context.WithTimeout(t.Context(), bound)
	defer cancel()
	if err := f.AwaitTried(ctx); err != nil || !f.Tried() {
		t.Errorf("afterwards: %v", err)
	}
}

func TestRunEndsPromptlyThoughAStartHangs(t *testing.T) {
	dir := directory(t)
	drop(t, dir, "echo", "1")
	f := newFixture(nil, dir)
	f.launcher.starting = make(chan struct{})
	stop := f.runs(t)
	until(t, "echo starts", func() bool { return f.state("echo") == adapter.Starting })
	stop()
	if s := f.state("echo"); s != adapter.Stopped {
		t.Errorf("echo is %s", s)
	}
}

func TestRunWithoutAnythingEnds(t *testing.T) {
	f := newFixture(nil)
	stop := f.runs(t)
	until(t, "it has looked", f.Tried)
	stop()
}

func TestARestartIsOfTheOneThatIsNamed(t *testing.T) {
	dir := directory(t)
	drop(t, dir, "echo", "1")
	drop(t, dir, "hello", "1")
	f := newFixture(nil, dir)
	f.runs(t)
	until(t, "both are ready", func() bool { return f.state("echo") == adapter.Ready && f.state("hello") == adapter.Ready })
	if found, err := f.Restart(t.Context(), "echo"); !found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	if e, h := len(f.launcher.of("echo")), len(f.launcher.of("hello")); e != 2 || h != 1 {
		t.Errorf("echo was started %d times, hello %d times", e, h)
	}
	if found, _ := f.Restart(t.Context(), "orders"); found {
		t.Error("what there is not was restarted")
	}
}
