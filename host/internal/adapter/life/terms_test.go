// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// under is a version with terms.
func under(v string, terms adapter.Terms) *adapter.Desired {
	d := version(v)
	d.Terms = terms
	return d
}

// effects of the tool get as it is offered, "none" if it is not.
func (f *fixture) effects() tool.Effects {
	for _, o := range f.registry.Snapshot().Offers {
		if o.Spec.Declared == "get" && o.Spec.Adapter == "orders" {
			return o.Spec.Effects
		}
	}
	return "none"
}

func claims(e tool.Effects) adapter.Terms {
	return adapter.Terms{Tools: map[string]adapter.Override{"get": {Effects: e}}}
}

func TestTermsChangeWithoutARestart(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.launcher.will(gives(newInstance("get", "put")))
		for _, step := range []struct {
			terms   adapter.Terms
			offered int
			effects tool.Effects
		}{
			{claims(tool.ReadOnly), 2, tool.ReadOnly},
			{claims(tool.Destructive), 2, tool.Destructive},
			{adapter.Terms{Exclude: []string{"get"}}, 1, "none"},
			{adapter.Terms{Exclude: []string{"*"}}, 0, "none"},
			{adapter.Terms{}, 2, tool.ReadOnly}, /* as it says itself */
		} {
			f.Want(under("1", step.terms))
			synctest.Wait()
			if s := f.expectState(adapter.Ready); s.Behind || s.Tools != step.offered || f.offered() != step.offered || f.effects() != step.effects {
				t.Errorf("under %+v: %d offered, effects %s, %+v", step.terms, f.offered(), f.effects(), s)
			}
		}
		if n := len(f.launcher.starts()); n != 1 {
			t.Errorf("%d starts", n)
		}
	})
}

func TestWhatServesOnIsHeldToItsOwnTermsAndToThoseThatAreWanted(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.launcher.will(gives(newInstance("get", "put")))
		f.Want(under("1", claims(tool.Additive)))
		synctest.Wait()
		f.launcher.will(fails(errRefused))
		for _, step := range []struct {
			terms   adapter.Terms
			offered int
			effects tool.Effects
		}{
			{claims(tool.ReadOnly), 2, tool.Additive}, // that of the one that does not start
			{claims(tool.Destructive), 2, tool.Destructive},
			{adapter.Terms{Exclude: []string{"put"}}, 1, tool.Additive},
		} {
			f.Want(under("2", step.terms))
			synctest.Wait()
			s := f.expectState(adapter.Ready)
			if !s.Behind || f.offered() != step.offered || f.effects() != step.effects || !strings.Contains(s.Cause, "no such database") {
				t.Errorf("under %+v: %d offered, effects %s, %+v", step.terms, f.offered(), f.effects(), s)
			}
		}
		f.launcher.will(gives(newInstance("get", "put")))
		f.Want(under("3", claims(tool.ReadOnly)))
		synctest.Wait()
		if s := f.expectState(adapter.Ready); s.Behind || f.effects() != tool.ReadOnly || f.offered() != 2 {
			t.Errorf("%s, %+v", f.effects(), s)
		}
	})
}

func TestAToolThatIsIncludedAndAnothersLetsInNothing(t *testing.T) {
	lived(t, func(t *testing.T, f *fixture) {
		f.launcher.will(gives(newInstance("get", "put", "wipe")))
		f.Want(under("1", adapter.Terms{Include: []string{"get", "wipe"}}))
		synctest.Wait()
		if _, err := f.registry.Replace("shop", newInstance(), []*registry.Offer{{Spec: tool.Spec{Name: "orders_put", Adapter: "shop"}}}); err != nil {
			t.Fatal(err)
		}
		f.Want(under("1", adapter.Terms{Include: []string{"get", "put"}}))
		synctest.Wait()
		if f.offered() != 1 || f.effects() == "none" {
			t.Errorf("%d offered, get is %s", f.offered(), f.effects())
		}
	})
}
