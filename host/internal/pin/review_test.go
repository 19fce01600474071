// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// spec is a tool that claims: "read_only idempotent confirm", or "no confirm".
func spec(declared, claims string) tool.Spec {
	s := tool.Spec{Declared: declared, Description: "Does it.", Input: []byte(`{"type":"object"}`)}
	yes, no := true, false
	switch {
	case strings.Contains(claims, "no confirm"):
		s.Confirm = &no
	case strings.Contains(claims, "confirm"):
		s.Confirm = &yes
	}
	for _, e := range []tool.Effects{tool.ReadOnly, tool.Additive, tool.Destructive} {
		if strings.Contains(claims, string(e)) {
			s.Effects = e
		}
	}
	s.Idempotent = strings.Contains(claims, "idempotent")
	return s
}

type reviewer interface {
	Review(adapter string, tools []tool.Spec) ([]tool.Spec, []string, error)
}

func review(t *testing.T, r reviewer, adapter string, tools ...tool.Spec) (fit []tool.Spec, notes []string) {
	t.Helper()
	fit, notes, err := r.Review(adapter, tools)
	if err != nil {
		t.Fatal(err)
	}
	return fit, notes
}

func TestWhatIsWeakerIsHeldBackClaimByClaimAndWhatIsStricterCounts(t *testing.T) {
	for name, tc := range map[string]struct {
		first, then string
		holds       string // what is offered then
		note        string
	}{
		"the same":                  {"read_only idempotent", "read_only idempotent", "read_only idempotent", ""},
		"destructive to read_only":  {"destructive", "read_only", "destructive", "effects destructive -> read_only"},
		"destructive to additive":   {"destructive", "additive", "destructive", "effects destructive -> additive"},
		"additive to read_only":     {"additive", "read_only", "additive", "effects additive -> read_only"},
		"unset to read_only":        {"", "read_only", "", "effects unset -> read_only"},
		"unset to destructive":      {"", "destructive", "destructive", ""},
		"destructive to unset":      {"destructive", "", "", ""},
		"read_only to destructive":  {"read_only", "destructive", "destructive", ""},
		"confirm dropped":           {"read_only confirm", "read_only", "read_only confirm", "confirm true -> unset"},
		"confirm turned off":        {"confirm", "no confirm", "confirm", "confirm true -> false"},
		"confirm unset, turned off": {"", "no confirm", "", "confirm unset -> false"},
		"confirm new":               {"read_only", "read_only confirm", "read_only confirm", ""},
		"suddenly idempotent":       {"additive", "additive idempotent", "additive", "idempotent false -> true"},
		"no longer idempotent":      {"additive idempotent", "additive", "additive", ""},
		"one weaker, another tighter": {
			"destructive idempotent", "read_only confirm", "destructive confirm", "effects destructive -> read_only",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Sightings{Dir: t.TempDir()}
			fit, notes := review(t, s, "orders", spec("get", tc.first))
			if diff := cmp.Diff([]tool.Spec{spec("get", tc.first)}, fit); diff != "" || len(notes) != 0 {
				t.Fatalf("the first sight: %q\n%s", notes, diff)
			}
			for range 2 { // also the second time
				now := spec("get", tc.then)
				now.Description = "Does it better."
				want := spec("get", tc.holds)
				want.Description = now.Description
				fit, notes = review(t, s, "orders", now)
				if diff := cmp.Diff([]tool.Spec{want}, fit); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if (tc.note == "") != (len(notes) == 0) || !strings.Contains(strings.Join(notes, "\n"), tc.note) {
					t.Errorf("notes %q, want %q", notes, tc.note)
				}
			}
			// Another adapter's tool of that name is another tool.
			if fit, notes := review(t, s, "shop", spec("get", tc.then)); !cmp.Equal([]tool.Spec{spec("get", tc.then)}, fit) || len(notes) != 0 {
				t.Errorf("of another adapter: %+v, %q", fit, notes)
			}
		})
	}
}

func TestWhatWasAcceptedIsKnownAndWhatIsGoneIsNotForgotten(t *testing.T) {
	s := &Sightings{Dir: filepath.Join(t.TempDir(), "state")}
	if err := s.Accept(map[string]Tools{"orders": {"get": Of(spec("get", "confirm"))}}); err != nil {
		t.Fatal(err)
	}
	review(t, s, "orders") // gone
	if _, notes := review(t, &Sightings{Dir: s.Dir}, "orders", spec("get", "read_only")); len(notes) != 1 {
		t.Errorf("notes %q", notes)
	}
	if err := s.Accept(map[string]Tools{"orders": {"get": Of(spec("get", "read_only"))}}); err != nil {
		t.Fatal(err)
	}
	if fit, notes := review(t, s, "orders", spec("get", "read_only")); len(notes) != 0 || fit[0].Effects != tool.ReadOnly {
		t.Errorf("%+v, notes %q", fit, notes)
	}
	if info, err := os.Stat(s.Path()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestADamagedMemoryIsNoReasonToTrust(t *testing.T) {
	s := &Sightings{Dir: t.TempDir()}
	review(t, s, "orders", spec("get", ""))
	if err := os.WriteFile(s.Path(), []byte("version: 1\nplugins: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if fit, _, err := s.Review("orders", []tool.Spec{spec("get", "read_only")}); err == nil || fit != nil || !strings.Contains(err.Error(), "specs.lock:1") {
		t.Errorf("%+v, %v", fit, err)
	}
}

func TestAnAdapterCannotMakeItsMemoryGrowForEver(t *testing.T) {
	s := &Sightings{Dir: t.TempDir()}
	for batch := range 5 {
		var tools []tool.Spec
		for i := range 1000 {
			tools = append(tools, spec(fmt.Sprintf("t%d_%d", batch, i), ""))
		}
		fit, notes := review(t, s, "orders", tools...)
		if full := batch == 4; full != (len(fit) == 0) || full && !strings.Contains(notes[0], "has shown more than 4000") {
			t.Errorf("batch %d: %d fit, notes %.200q", batch, len(fit), notes)
		}
	}
	if fit, notes := review(t, s, "orders", spec("t0_1", "read_only"), spec("a\nb", "read_only")); len(fit) != 1 || fit[0].Effects != "" || len(notes) != 2 {
		t.Errorf("%+v, %q", fit, notes)
	}
}

// However a plugin goes about it, what is offered is never weaker than anything
// that the tool has ever said of itself.
func TestNoSequenceOfClaimsWeakensATool(t *testing.T) {
	claim := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"", "read_only", "additive", "destructive"}).Draw(t, "effects") +
			rapid.SampledFrom([]string{"", " confirm", " no confirm"}).Draw(t, "confirm") +
			rapid.SampledFrom([]string{"", " idempotent"}).Draw(t, "idempotent")
	})
	rapid.Check(t, func(rt *rapid.T) {
		known := Tools{}
		var said []Fingerprint
		for _, c := range rapid.SliceOfN(claim, 1, 8).Draw(rt, "claims") {
			now := spec("get", c)
			said = append(said, Of(now))
			fit, _, _ := known.sight("orders", []tool.Spec{now})
			offered := Of(fit[0])
			for _, before := range said {
				if before.weakens(offered) {
					rt.Fatalf("%s is offered, after %s", offered.Claims(), before.Claims())
				}
			}
			if fit, _, learned := known.sight("orders", []tool.Spec{now}); learned || !cmp.Equal(Of(fit[0]), offered) {
				rt.Fatalf("the second time it is %+v", fit)
			}
		}
	})
}

func TestAFingerprintCoversWhatThePluginSaysAndNothingOfTheOperator(t *testing.T) {
	plain := Of(spec("get", ""))
	for name, change := range map[string]func(*tool.Spec){
		"description": func(s *tool.Spec) { s.Description = "x" },
		"input":       func(s *tool.Spec) { s.Input = []byte(`{}`) },
		"tags":        func(s *tool.Spec) { s.Tags = []string{"x"} },
		"lenient":     func(s *tool.Spec) { s.Lenient = true },
	} {
		s := spec("get", "")
		change(&s)
		if Of(s) == plain {
			t.Errorf("%s does not count", name)
		}
	}
	s := spec("get", "")
	s.Name, s.Adapter = "orders_get", "orders"
	if Of(s) != plain {
		t.Error("the prefix counts")
	}
}

func trusting(string) error { return nil }

func TestPinsOfferOnlyWhatTheyName(t *testing.T) {
	lock := &Lock{Adapters: map[string]Tools{"orders": {"get": Of(spec("get", "read_only")), "put": Of(spec("put", ""))}}}
	p := Fixed(lock)
	changed := spec("put", "")
	changed.Description = "x"
	fit, notes := review(t, p, "orders", spec("get", "read_only"), changed, spec("new", "additive confirm"))
	if diff := cmp.Diff([]tool.Spec{spec("get", "read_only")}, fit); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := []string{
		"tool put is not offered: it is not as pinned: its description, its schemas or its tags have changed",
		`tool "new" is not offered: it is not pinned (additive, confirm true)`,
		"2 of 3 tools are held back until `toolwharf plugins pin orders`",
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if fit, _ := review(t, p, "orders", spec("get", "destructive")); len(fit) != 0 {
		t.Errorf("a stricter one is a change too: %+v", fit)
	}
	var many []tool.Spec
	for i := range 100 {
		many = append(many, spec(fmt.Sprint(i), ""))
	}
	if fit, notes := review(t, p, "shop", many...); len(fit) != 0 || len(notes) != maxNotes+2 || notes[maxNotes] != "and 80 tools more" {
		t.Errorf("%+v, %q", fit, notes)
	}
}

func TestPinsAreThoseOfTheNewestSoundLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	p := NewPins(path, trusting)
	expect := func(what string, hash tool.Digest, refused, fault string) {
		t.Helper()
		got, why := p.Program("sql", false)
		if got != hash || (refused == "") != (why == "") || !strings.Contains(why, refused) {
			t.Errorf("%s: %v, %q", what, got, why)
		}
		if err := p.Fault(); (fault == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), fault) {
			t.Errorf("%s: fault %v", what, err)
		}
	}
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p.Reread()
	}
	expect("no lock", tool.Digest{}, "run `toolwharf plugins pin`", "there is no "+path)
	put("version: 1")
	expect("a damaged lock", tool.Digest{}, "toolwharf.lock:1", "toolwharf.lock:1")
	put(string(example().Text()))
	expect("a lock", digest("sql"), "", "")
	if _, why := p.Program("sql", true); !strings.Contains(why, "is pinned as executable and is now folder") {
		t.Errorf("another kind: %q", why)
	}
	if _, why := p.Program("rest", false); !strings.Contains(why, "plugin rest is not pinned; look at it and run `toolwharf plugins pin rest`") {
		t.Errorf("another one: %q", why)
	}
	put("version: 1")
	expect("a lock damaged later", digest("sql"), "", "toolwharf.lock:1")
	put(string(NewLock().Text()))
	expect("an empty lock", tool.Digest{}, "plugin sql is not pinned", "")
	put(string(example().Text()))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	p.Reread()
	expect("a lock that is gone", tool.Digest{}, "there is no", "there is no")

	put(string(example().Text()))
	p = NewPins(path, func(string) error { return errors.New("can be written by others") })
	expect("a lock that others can write", tool.Digest{}, "can be written by others", "can be written by others")
}
