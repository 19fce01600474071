// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
)

func TestPausesGrowToAMinuteAndAreNeverTheSameForEverybody(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 20 {
		tm := newTemper()
		for n := range 50 {
			pause, again := tm.failed(errRefused, 2)
			if !again || pause <= 0 || pause > slowest*3/2 {
				t.Fatalf("pause %d is %v", n+1, pause)
			}
			if n == 0 {
				seen[pause] = true
			}
			if n > 20 && pause < slowest/2 {
				t.Fatalf("pause %d is %v", n+1, pause)
			}
		}
	}
	if len(seen) < 2 {
		t.Error("without jitter: all adapters of a host would start at once")
	}
}

func TestRestartsAreCountedWithinAMinute(t *testing.T) {
	for name, tc := range map[string]struct {
		restarts int
		gaps     []time.Duration // between the crashes
		atOnce   []bool
	}{
		"none is for nothing": {0, []time.Duration{0}, []bool{false}},
		"as many as allowed":  {2, []time.Duration{0, 0, 0}, []bool{true, true, false}},
		"the first falls out of the minute": {
			2, []time.Duration{0, 30 * time.Second, 30 * time.Second, 30 * time.Second, 1}, []bool{true, true, true, true, false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tm := newTemper()
				for i, gap := range tc.gaps {
					time.Sleep(gap)
					pause, again := tm.crashed(gap, tc.restarts)
					if !again || (pause == 0) != tc.atOnce[i] {
						t.Errorf("crash %d: a pause of %v", i+1, pause)
					}
				}
			})
		})
	}
}

func TestWhatIsGivenUpAndWhatIsNot(t *testing.T) {
	for name, tc := range map[string]struct {
		err     error
		givenUp int // after so many failures; 0 is never
	}{
		"a start that fails":                {errLaunch, patience + 1},
		"a process that ends in its start":  {errEnded, patience + 1},
		"any other error":                   {errors.New("x"), patience + 1},
		"a configuration that is refused":   {errRefused, 0},
		"a plugin that needs configuration": {&adapter.NeedsConfigError{}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			tm := newTemper()
			for n := 1; n <= 100; n++ {
				_, again := tm.failed(tc.err, 2)
				if want := tc.givenUp == 0 || n < tc.givenUp; again != want || tm.quarantined() == want {
					t.Fatalf("failure %d: again %v, want %v", n, again, want)
				}
				if !again {
					return
				}
			}
		})
	}
}
