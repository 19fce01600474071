// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
)

func TestDrainEndsAPluginThatWorksAndLeavesNothing(t *testing.T) {
	h := newHarness(t)
	in := h.started(desired(echo))
	pid := in.About().PID
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err != nil {
		t.Skip("there is no /proc")
	}
	running(t.Context(), t, in)
	h.drained(in)
	if in.Ended() == nil {
		t.Error("nobody knows how it ended")
	}
	h.drained(in) // once more is no fault
}

// A plugin that does not heed the request to end has until the context ends,
// and then no longer.
func TestDrainEndsAStubbornPluginByForce(t *testing.T) {
	for name, tc := range map[string]struct {
		grace time.Duration
		// patient: go-plugin's own patience ends before the context.
		patient bool
	}{
		"when the context ends":               {0, false},
		"when go-plugin has no more patience": {bound, true},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			h := newHarness(t)
			h.Log = hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Debug, Mutex: &sync.Mutex{}})
			in := h.started(acting(t, "stubborn"))
			ctx, cancel := context.WithTimeout(t.Context(), tc.grace)
			defer cancel()
			if err := in.Drain(ctx); err != nil {
				t.Error(err)
			}
			h.expectNothingLeft(in.About().PID)
			if err := in.Ended(); err == nil || !strings.Contains(err.Error(), "signal: killed") {
				t.Errorf("ended: %v", err)
			}
			if got := strings.Contains(log.String(), "plugin failed to exit gracefully"); got != tc.patient {
				t.Errorf("go-plugin has waited to its own end: %v, want %v", got, tc.patient)
			}
		})
	}
}

func TestAnInstanceThatEndsByItselfSaysHowAndItsRemainsAreDrained(t *testing.T) {
	h := newHarness(t)
	in := h.started(acting(t, "ending after a moment"))
	var last error
	for _, err := range in.Catalogs(t.Context()) {
		last = err
	}
	if last == nil {
		t.Error("the catalogue ended without an error")
	}
	select {
	case <-in.Done():
	case <-time.After(bound):
		t.Fatal("it runs on")
	}
	if err := in.Ended(); err == nil || err.Error() != "exit status 9; its last words: out of memory" {
		t.Errorf("ended: %v", err)
	}
	h.drained(in)
}

func TestInstancesOfOneProgramAreApart(t *testing.T) {
	h := newHarness(t)
	a, b := h.started(desired(echo)), h.started(desired(echo))
	if a.About().PID == b.About().PID {
		t.Fatal("one process")
	}
	dirs, err := os.ReadDir(h.RunDir)
	if err != nil || len(dirs) != 2 {
		t.Errorf("directories of sockets: %v, %v", dirs, err)
	}
	for _, d := range dirs {
		if info, err := d.Info(); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s can be entered by others: %v, %v", d.Name(), info.Mode(), err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	if err := a.Drain(ctx); err != nil {
		t.Error(err)
	}
	result(t, b, attempt(t, "echo", `{"text":"still here"}`))
}

var _ adapter.Launcher = (*harness)(nil)
