// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func yes() *bool { return new(true) }

func no() *bool { return new(false) }

func declared(names ...string) []tool.Spec {
	specs := make([]tool.Spec, 0, len(names))
	for _, n := range names {
		specs = append(specs, tool.Spec{Declared: n})
	}
	return specs
}

func TestWhatIsExcludedOrNotIncludedIsNotServed(t *testing.T) {
	for name, tc := range map[string]struct {
		terms Terms
		want  []string
	}{
		"nothing is said":           {Terms{}, []string{"get", "put", "admin.wipe"}},
		"some are included":         {Terms{Include: []string{"get", "p*"}}, []string{"get", "put"}},
		"some are excluded":         {Terms{Exclude: []string{"admin.*"}}, []string{"get", "put"}},
		"exclusion goes first":      {Terms{Include: []string{"*"}, Exclude: []string{"put"}}, []string{"get", "admin.wipe"}},
		"a glob is of a whole name": {Terms{Exclude: []string{"wipe", "adm", "GET"}}, []string{"get", "put", "admin.wipe"}},
		"everything is excluded":    {Terms{Exclude: []string{"*"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			served, _ := Hold(declared("get", "put", "admin.wipe"), tc.terms)
			var got []string
			for _, s := range served {
				got = append(got, s.Declared)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestTheOperatorsWordOnAToolHolds(t *testing.T) {
	said := tool.Spec{Declared: "get", Effects: tool.Destructive, Confirm: yes(), Tags: []string{"pii"}}
	terms := Terms{Tools: map[string]Override{
		"get": {Effects: tool.ReadOnly, Idempotent: yes(), Confirm: no(), Tags: []string{"pii", "reports"}},
	}}
	served, notes := Hold([]tool.Spec{said, {Declared: "put", Effects: tool.Additive}}, terms)
	want := []tool.Spec{
		{Declared: "get", Effects: tool.ReadOnly, Idempotent: true, Confirm: no(), Excused: true, Tags: []string{"pii", "reports"}},
		{Declared: "put", Effects: tool.Additive},
	}
	if diff := cmp.Diff(want, served); diff != "" || notes != nil {
		t.Errorf("%s%q", diff, notes)
	}
	if said.Effects != tool.Destructive || !*said.Confirm || len(said.Tags) != 1 {
		t.Errorf("the catalogue was changed: %+v", said)
	}
}

func TestEveryWordOfTheOperatorChangesWhatApprovalsAreBoundTo(t *testing.T) {
	spec := tool.Spec{Declared: "get", Effects: tool.Additive}
	spec.Seal()
	seen := map[tool.Digest]string{spec.Digest: "nothing"}
	for what, o := range map[string]Override{
		"effects": {Effects: tool.Destructive}, "idempotence": {Idempotent: yes()}, "confirm": {Confirm: yes()},
		"no confirm": {Confirm: no()}, "a tag": {Tags: []string{"a"}},
	} {
		served, _ := Hold([]tool.Spec{spec}, Terms{Tools: map[string]Override{"get": o}})
		served[0].Seal()
		if same, taken := seen[served[0].Digest]; taken {
			t.Errorf("%s makes no other spec than %s", what, same)
		}
		seen[served[0].Digest] = what
	}
}

func TestTermsDifferWhenAnyOfTheirWordsDoes(t *testing.T) {
	seen := map[tool.Digest]string{}
	for what, terms := range map[string]Terms{
		"nothing": {}, "include": {Include: []string{"a"}}, "exclude": {Exclude: []string{"a"}}, "two": {Exclude: []string{"a", "b"}},
		"a blank":     {Exclude: []string{"a b"}},
		"a tool":      {Tools: map[string]Override{"a": {}}},
		"its effects": {Tools: map[string]Override{"a": {Effects: tool.ReadOnly}}}, "idempotent": {Tools: map[string]Override{"a": {Idempotent: yes()}}},
		"not idempotent": {Tools: map[string]Override{"a": {Idempotent: no()}}}, "confirm": {Tools: map[string]Override{"a": {Confirm: yes()}}},
		"no confirm": {Tools: map[string]Override{"a": {Confirm: no()}}}, "a tag": {Tools: map[string]Override{"a": {Tags: []string{"x"}}}},
	} {
		d := terms.Digest()
		if same, taken := seen[d]; taken {
			t.Errorf("%s is the same as %s", what, same)
		}
		seen[d] = what
	}
}

func TestWhatTheTermsSayInVainIsNoted(t *testing.T) {
	_, notes := Hold(declared("get"), Terms{
		Include: []string{"g*", "q*"}, Exclude: []string{"x"}, Tools: map[string]Override{"gte": {}, "get": {}},
	})
	want := []string{"exclude: x matches no tool that it declares", "include: q* matches no tool that it declares", "tools.gte says something of a tool that it does not declare"}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Error(diff)
	}
}

// drawn draws terms of the tools a and b.
func drawn(t *rapid.T, label string) Terms {
	globs := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "*", "[ab]"}), 0, 2)
	flag := rapid.SampledFrom([]*bool{nil, yes(), no()})
	over := func() Override {
		return Override{
			Effects:    rapid.SampledFrom([]tool.Effects{"", tool.ReadOnly, tool.Additive, tool.Destructive}).Draw(t, label+" effects"),
			Idempotent: flag.Draw(t, label+" idempotent"), Confirm: flag.Draw(t, label+" confirm"),
			Tags: rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y"}), 0, 2).Draw(t, label+" tags"),
		}
	}
	return Terms{
		Include: globs.Draw(t, label+" include"), Exclude: globs.Draw(t, label+" exclude"),
		Tools: map[string]Override{"a": over(), "b": over()},
	}
}

func TestUnderTwoTermsNoToolIsMoreThanUnderEither(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one, other := drawn(t, "one"), drawn(t, "other")
		specs := []tool.Spec{{Declared: "a", Effects: tool.Additive, Confirm: yes(), Tags: []string{"own"}}, {Declared: "b", Idempotent: true}}
		both, _ := Hold(specs, one, other)
		for _, terms := range []Terms{one, other} {
			alone, _ := Hold(specs, terms)
			for _, got := range both {
				i := slices.IndexFunc(alone, func(s tool.Spec) bool { return s.Declared == got.Declared })
				if i < 0 {
					t.Fatalf("%s is served under both and not under one", got.Declared)
				}
				want := alone[i]
				if got.Effects.Harm() < want.Effects.Harm() || got.Idempotent && !want.Idempotent || got.Excused && !want.Excused ||
					wariness(got.Confirm) < wariness(want.Confirm) {
					t.Fatalf("%+v is more than %+v", got, want)
				}
				for _, tag := range want.Tags {
					if !slices.Contains(got.Tags, tag) {
						t.Fatalf("%s has lost the tag %s", got.Declared, tag)
					}
				}
			}
		}
	})
}
