// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/registry"
)

func TestReplaceReplacesTheWholeOfOneAdapterAndNothingElse(t *testing.T) {
	r := registry.New()
	a1, a2, b := &runner{"a1"}, &runner{"a2"}, &runner{"b"}
	replace(t, r, "a", a1, offers("a", "a_z", "a_get"))
	replace(t, r, "b", b, offers("b", "b_get"))
	if diff := cmp.Diff([]string{"a_get", "a_z", "b_get"}, names(r.Snapshot())); diff != "" {
		t.Errorf("sorted by name (-want +got):\n%s", diff)
	}
	before := r.Snapshot()

	replace(t, r, "a", a2, offers("a", "a_put", "a_get"))
	if diff := cmp.Diff([]string{"a_get", "a_put", "b_get"}, names(r.Snapshot())); diff != "" {
		t.Errorf("after the replacement (-want +got):\n%s", diff)
	}
	if _, found := r.Snapshot().Find("a_z"); found {
		t.Error("a tool that is no longer offered is found")
	}
	for name, want := range map[string]*runner{"a_get": a2, "a_put": a2, "b_get": b} {
		e, release, ok := r.Acquire(name)
		if !ok {
			t.Errorf("%s is not found", name)
			continue
		}
		if e.Runner != want || e.Spec.Name != name {
			t.Errorf("%s leads to %s of %v, want %v", name, e.Spec.Name, e.Runner, want)
		}
		release()
	}
	if diff := cmp.Diff([]string{"a_get", "a_z", "b_get"}, names(before)); diff != "" {
		t.Errorf("a snapshot has changed (-want +got):\n%s", diff)
	}
	if before.Version >= r.Snapshot().Version {
		t.Errorf("versions %d, then %d", before.Version, r.Snapshot().Version)
	}
}

func TestReplaceByNothingRemovesTheAdapter(t *testing.T) {
	r := registry.New()
	replace(t, r, "a", &runner{"a"}, []*registry.Offer{aliased("a", "a_get", "a.get")})
	replace(t, r, "b", &runner{"b"}, offers("b", "b_get"))
	replace(t, r, "a", nil, nil)
	for _, name := range []string{"a_get", "a.get"} {
		if _, _, ok := r.Acquire(name); ok {
			t.Errorf("%s can still be acquired", name)
		}
	}
	if diff := cmp.Diff([]string{"b_get"}, names(r.Snapshot())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	replace(t, r, "never", nil, nil) // removing what is not there is no fault
}

func TestCollisionsNameBothOwnersAllAtOnceAndChangeNothing(t *testing.T) {
	type collision = registry.CollisionError
	for name, tc := range map[string]struct {
		newcomer []*registry.Offer
		want     []collision
	}{
		"one name of another adapter": {
			offers("new", "new_a", "old_b"),
			[]collision{{"old_b", "old", "new"}},
		},
		"several, of several adapters": {
			offers("new", "old_a", "older_a", "old_b"),
			[]collision{{"old_a", "old", "new"}, {"older_a", "older", "new"}, {"old_b", "old", "new"}},
		},
		"the same name twice": {
			offers("new", "new_a", "new_a", "new_b"),
			[]collision{{"new_a", "new", "new"}},
		},
		"twice, and of another adapter": {
			offers("new", "old_a", "old_a"),
			[]collision{{"old_a", "old", "new"}, {"old_a", "new", "new"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := registry.New()
			mine := &runner{"mine"}
			replace(t, r, "old", &runner{"old"}, offers("old", "old_a", "old_b"))
			replace(t, r, "older", &runner{"older"}, offers("older", "older_a"))
			replace(t, r, "new", mine, offers("new", "new_before"))
			before := r.Snapshot()

			free, err := r.Replace("new", &runner{"newer"}, tc.newcomer)
			if free != nil || err == nil {
				t.Fatalf("taken: %v", err)
			}
			var got []collision
			for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
				var c *collision
				if !errors.As(e, &c) {
					t.Fatalf("%T: %v", e, e)
				}
				got = append(got, *c)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("collisions (-want +got):\n%s", diff)
			}
			if r.Snapshot() != before {
				t.Error("the catalogue has changed")
			}
			e, release, ok := r.Acquire("new_before")
			if !ok || e.Runner != mine {
				t.Fatal("what the newcomer offered before is gone")
			}
			release()
		})
	}
}

func TestACollisionSaysWhatToDo(t *testing.T) {
	for _, tc := range []struct {
		err  registry.CollisionError
		want string
	}{
		{
			registry.CollisionError{Name: "x_get", Incumbent: "old", Newcomer: "new"},
			"tool x_get of adapter new collides with that of adapter old; give one of them another prefix",
		},
		{
			registry.CollisionError{Name: "x_get", Incumbent: "new", Newcomer: "new"},
			"adapter new declares two tools whose public name is x_get",
		},
	} {
		if got := tc.err.Error(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

func TestANameIsFreeOnceItsOwnerHasGivenItUp(t *testing.T) {
	r := registry.New()
	replace(t, r, "old", &runner{"old"}, offers("old", "get"))
	if _, err := r.Replace("new", &runner{"new"}, offers("new", "get")); err == nil {
		t.Fatal("a name has two owners")
	}
	replace(t, r, "old", nil, nil)
	replace(t, r, "new", &runner{"new"}, offers("new", "get"))
	o, ok := r.Snapshot().Find("get")
	if !ok || o.Spec.Adapter != "new" {
		t.Errorf("found %+v", o)
	}
}

func TestAnAliasCanBeCalledButNeverStandsBeforeANameProper(t *testing.T) {
	for name, tc := range map[string]struct {
		moored map[string][]*registry.Offer
		// find is the public name that each name leads to.
		find map[string]string
	}{
		"an alias leads to its tool": {
			map[string][]*registry.Offer{"a": {aliased("a", "a_x_get", "a_x.get")}},
			map[string]string{"a_x.get": "a_x_get", "a_x_get": "a_x_get"},
		},
		"the empty alias leads nowhere": {
			map[string][]*registry.Offer{"a": offers("a", "a_get")},
			map[string]string{"": ""},
		},
		"a name of another adapter goes before": {
			map[string][]*registry.Offer{"a": {aliased("a", "a_x", "b_x")}, "b": offers("b", "b_x")},
			map[string]string{"b_x": "b_x", "a_x": "a_x"},
		},
		"a name of the same adapter goes before": {
			map[string][]*registry.Offer{"a": {aliased("a", "a_1", "a_2"), aliased("a", "a_2", "")}},
			map[string]string{"a_2": "a_2"},
		},
		"of two equal aliases the first by public name": {
			map[string][]*registry.Offer{"b": {aliased("b", "b_x", "x")}, "a": {aliased("a", "a_x", "x")}},
			map[string]string{"x": "a_x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := registry.New()
			for adapter, what := range tc.moored {
				replace(t, r, adapter, &runner{adapter}, what)
			}
			for name, want := range tc.find {
				got := ""
				if o, ok := r.Snapshot().Find(name); ok {
					got = o.Spec.Name
				}
				if got != want {
					t.Errorf("%q leads to %q, want %q", name, got, want)
				}
				e, release, ok := r.Acquire(name)
				if ok != (want != "") {
					t.Errorf("%q: acquired %v", name, ok)
				}
				if ok {
					if e.Spec.Name != want || e.Runner.(*runner).name != e.Spec.Adapter {
						t.Errorf("%q acquires %s of %v", name, e.Spec.Name, e.Runner)
					}
					release()
				}
			}
		})
	}
}

func TestANameTakesTheAliasOfAnIncumbentWithoutACollision(t *testing.T) {
	r := registry.New()
	replace(t, r, "a", &runner{"a"}, []*registry.Offer{aliased("a", "a_x", "b_x")})
	replace(t, r, "b", &runner{"b"}, offers("b", "b_x"))
	if o, _ := r.Snapshot().Find("b_x"); o.Spec.Adapter != "b" {
		t.Errorf("b_x leads to adapter %s", o.Spec.Adapter)
	}
	replace(t, r, "b", nil, nil)
	if o, ok := r.Snapshot().Find("b_x"); !ok || o.Spec.Name != "a_x" {
		t.Error("the alias did not come back")
	}
}
