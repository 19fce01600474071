// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// specs let only some tools pass.
type specs struct {
	mu   sync.Mutex
	held map[string]bool
	err  error
}

func (s *specs) Review(_ string, tools []tool.Spec) (fit []tool.Spec, notes []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range tools {
		if s.held[t.Declared] {
			notes = append(notes, t.Declared+" is held back")
			continue
		}
		fit = append(fit, t)
	}
	return fit, notes, s.err
}

func (s *specs) holds(err error, tools ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held, s.err = map[string]bool{}, err
	for _, t := range tools {
		s.held[t] = true
	}
}

// reviewed runs a test of a life that holds its tools to something.
func reviewed(t *testing.T, test func(*testing.T, *fixture, *specs)) {
	lived(t, func(t *testing.T, f *fixture) {
		s := &specs{}
		f.config.Specs = s // nothing was wanted yet
		test(t, f, s)
	})
}

func TestToolsAreOfferedAsFarAsTheyAreFitAndLookedAtAgainWithoutARestart(t *testing.T) {
	reviewed(t, func(t *testing.T, f *fixture, s *specs) {
		s.holds(nil, "put")
		in := newInstance("get", "put")
		f.launcher.will(gives(in))
		f.starts("1")
		if got := f.now(); got.Tools != 1 || !cmp.Equal(got.Notes, []string{"put is held back"}) {
			t.Errorf("%+v", got)
		}
		s.holds(nil)
		synctest.Wait()
		if n := f.offered(); n != 1 {
			t.Errorf("%d tools before anybody said that something has changed", n)
		}
		f.Review()
		synctest.Wait()
		if got := f.now(); got.Tools != 2 || len(got.Notes) != 0 || got.PID != in.pid {
			t.Errorf("%+v", got)
		}

		// A catalogue that cannot be held to anything is not taken.
		s.holds(errors.New("damaged"))
		in.catalogs <- offering("get", "put", "new")
		synctest.Wait()
		if got := f.now(); got.Tools != 2 || !strings.Contains(got.Cause, "its newest catalogue was not taken: catalogue: damaged") {
			t.Errorf("%+v", got)
		}
	})
}

func TestAReviewOfWhatDoesNotServeIsNothing(t *testing.T) {
	reviewed(t, func(t *testing.T, f *fixture, s *specs) {
		f.Review()
		synctest.Wait()
		f.expectState(adapter.Waiting)
		s.holds(errors.New("damaged"))
		f.wants("1")
		if got := f.expectState(adapter.BackingOff); !strings.Contains(got.Cause, "catalogue: damaged") {
			t.Errorf("%+v", got)
		}
	})
}

// pinnedTo is a version that must have a hash.
func pinnedTo(v, hash string) *adapter.Desired {
	d := version(v)
	d.Program.Pin = tool.DigestOf([]byte(hash))
	return d
}

func TestAProgramThatIsNotAsPinned(t *testing.T) {
	unpinned := fails(&adapter.UnpinnedError{Reason: "not as pinned"})
	for name, tc := range map[string]struct {
		wanted *adapter.Desired
		state  adapter.State
		cause  string
		serves int
	}{
		"leaves what is still pinned":          {pinnedTo("2", "old"), adapter.Ready, "the old one serves on: not as pinned", 1},
		"ends what is not pinned any more":     {pinnedTo("2", "new"), adapter.Waiting, "not as pinned", 0},
		"ends it also if the file is the same": {pinnedTo("1", "new"), adapter.Waiting, "not as pinned", 0},
	} {
		t.Run(name, func(t *testing.T) {
			lived(t, func(t *testing.T, f *fixture) {
				f.Want(pinnedTo("1", "old"))
				synctest.Wait()
				f.expectState(adapter.Ready)
				f.launcher.will(unpinned)
				f.Want(tc.wanted)
				synctest.Wait()
				if s := f.expectState(tc.state); !strings.Contains(s.Cause, tc.cause) || f.offered() != tc.serves {
					t.Errorf("%d tools, %+v", f.offered(), s)
				}
				starts := len(f.launcher.starts())
				pass(time.Hour)
				if n := len(f.launcher.starts()); n != starts {
					t.Errorf("it was tried %d times more without any change", n-starts)
				}
				if tc.state == adapter.Ready { // and crashes
					f.crash()
					if s := f.expectState(adapter.Waiting); s.Cause != "not as pinned" || f.offered() != 0 {
						t.Errorf("%d tools, %+v", f.offered(), s)
					}
				}
				f.launcher.will(nil)
				f.Want(pinnedTo("3", "new"))
				synctest.Wait()
				f.expectState(adapter.Ready)
			})
		})
	}
}
