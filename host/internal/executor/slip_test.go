// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// ranTools are the public names of what has run.
type ranTools struct{ names []string }

func (r *ranTools) Run(_ context.Context, a *tool.Attempt) (tool.Outcome, error) {
	r.names = append(r.names, a.Spec.Name)
	return &tool.Result{}, nil
}

// nothing is a journal that keeps nothing.
type nothing struct{}

func (nothing) Begin(context.Context, executor.Intent) error { return nil }
func (nothing) End(context.Context, executor.Record) error   { return nil }

// offered draws what some adapters offer, under prefixes and names that come near
// to each other.
func offered(t *rapid.T, reg *registry.Registry, r *ranTools) (offers []*registry.Offer) {
	input, err := schema.Compile(json.RawMessage(`{"type":"object"}`), schema.Input)
	if err != nil {
		t.Fatal(err)
	}
	for _, adapter := range []string{"a", "b", "c"} {
		prefix := rapid.SampledFrom([]string{"", "a_", "a.", "b_", "B_", "a_b_", "x-"}).Draw(t, adapter+" prefix")
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
			"get", "Get", "get.all", "get_all", "b_get", "wipe", "wipe.", strings.Repeat("long", 15), strings.Repeat("long", 15) + "er",
		}), 1, 3, rapid.ID).Draw(t, adapter+" names")
		var mine []*registry.Offer
		for _, declared := range names {
			o := &registry.Offer{Input: input, Spec: tool.Spec{
				Adapter: adapter, Declared: declared, Tags: rapid.SliceOfN(rapid.SampledFrom([]string{"t", "u"}), 0, 1).Draw(t, "tags"),
				Effects: rapid.SampledFrom([]tool.Effects{"", tool.ReadOnly, tool.Additive, tool.Destructive}).Draw(t, "effects"),
			}}
			o.Spec.Name, o.Alias = registry.PublicName(prefix, declared)
			o.Spec.Seal()
			mine = append(mine, o)
		}
		if _, err := reg.Replace(adapter, r, mine); err == nil { // else two names collide, and none of them is there
			offers = append(offers, mine...)
		}
	}
	return offers
}

// oracle says what a list of rules whose globs are names, or end in the one star that
// they have, says of a tool.
func oracle(list []rules.Rule, s *tool.Spec) rules.Verb {
	for _, r := range list {
		named := slices.ContainsFunc(r.Names, func(glob string) bool {
			start, starred := strings.CutSuffix(glob, "*")
			return s.Name == glob || starred && strings.HasPrefix(s.Name, start)
		})
		if named && (r.Adapters == nil || slices.Contains(r.Adapters, s.Adapter)) && (r.Tags == nil || slices.Contains(s.Tags, r.Tags[0])) &&
			(r.Effects == nil || slices.Contains(r.Effects, s.Effects.Effective())) {
			return r.Verb
		}
	}
	if s.Effects == tool.ReadOnly {
		return rules.Allow
	}
	return rules.Confirm
}

// rulesAbout draws rules about what is offered.
func rulesAbout(t *rapid.T, offers []*registry.Offer, verbs ...rules.Verb) (list []rules.Rule) {
	globs := []string{"*", "a*", "a_*", "b_*", "B_*"}
	for _, o := range offers {
		globs = append(globs, o.Spec.Name, o.Spec.Name+"*", o.Spec.Declared)
		if o.Alias != "" {
			globs = append(globs, o.Alias)
		}
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "rules") {
		r := rules.Rule{Verb: rapid.SampledFrom(verbs).Draw(t, "verb"), Line: i + 1, Names: rapid.SliceOfN(rapid.SampledFrom(globs), 1, 2).Draw(t, "globs")}
		switch rapid.IntRange(0, 5).Draw(t, "condition") {
		case 0:
			r.Adapters = []string{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "adapter")}
		case 1:
			r.Effects = []tool.Effects{rapid.SampledFrom([]tool.Effects{tool.ReadOnly, tool.Destructive}).Draw(t, "of effects")}
		case 2:
			r.Tags = []string{"t"}
		}
		list = append(list, r)
	}
	return list
}

// spelled are ways to ask for a tool, beside its public name.
func spelled(o *registry.Offer) []string {
	n := o.Spec.Name
	wide := strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f {
			return r + 0xfee0
		}
		return r
	}, n)
	ways := []string{
		o.Spec.Declared, strings.ToUpper(n), strings.ToLower(n), n + " ", " " + n, n + "\x00", "\u200b" + n, wide, norm.NFD.String(wide), url.PathEscape(n) + "%20",
		strings.ReplaceAll(n, "_", "."), strings.ReplaceAll(n, "_", "\u005f\u0332"), "tools:" + n, "resources:" + n, "prompts:" + n, o.Spec.Adapter + "." + o.Spec.Declared,
		strings.ReplaceAll(n, "a", "а"), // the Cyrillic letter
	}
	if o.Alias != "" {
		ways = append(ways, o.Alias)
	}
	return ways
}

func TestNoOrderOfRulesPrefixAliasOrSpellingLetsADeniedToolRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ran, reg := &ranTools{}, registry.New()
		offers := offered(t, reg, ran)
		list := rulesAbout(t, offers, rules.Allow, rules.Confirm, rules.Deny)
		x := judging(t, reg, list)
		byName := map[string]*tool.Spec{}
		for _, o := range offers {
			byName[o.Spec.Name] = &o.Spec
		}
		for _, o := range offers {
			for _, name := range append(spelled(o), o.Spec.Name) {
				ran.names = nil
				for _, op := range []tool.Op{tool.OpTool, tool.OpResource, tool.OpPrompt} {
					_, _ = x.Do(t.Context(), &tool.Call{Op: op, Name: name, Args: args(t)})
				}
				for _, n := range ran.names {
					if verb := oracle(list, byName[n]); verb != rules.Allow {
						t.Fatalf("asked for %q, %s has run: %s by %+v", name, n, verb, list)
					}
				}
				if name == o.Spec.Name && len(ran.names) == 0 && oracle(list, &o.Spec) == rules.Allow {
					t.Fatalf("%s is allowed and has not run: %+v", name, list)
				}
			}
		}
	})
}

func TestAPolicyOfDenialsLeavesTheRestToTheDefaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ran, reg := &ranTools{}, registry.New()
		offers := offered(t, reg, ran)
		list := rulesAbout(t, offers, rules.Deny)
		x := judging(t, reg, list)
		for _, o := range offers {
			ran.names = nil
			_, err := x.Do(t.Context(), &tool.Call{Op: tool.OpTool, Name: o.Spec.Name, Args: args(t)})
			verb := oracle(list, &o.Spec)
			if got := len(ran.names) == 1; got != (verb == rules.Allow) {
				t.Fatalf("%s of %+v: %v by %+v", verb, o.Spec, err, list)
			}
			if e := tool.AsError(err); verb == rules.Confirm && e.Kind != tool.ApprovalDenied {
				t.Fatalf("%+v is to be confirmed: %v", o.Spec, err)
			}
		}
	})
}

func args(t *rapid.T) tool.JSON {
	j, err := tool.ParseArgs([]byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// judging is an executor that has rules, and nobody to confirm anything.
func judging(t *rapid.T, reg *registry.Registry, list []rules.Rule) *executor.Executor {
	p, err := rules.New(list, rules.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	x := executor.New(executor.Config{
		Registry: reg, Journal: nothing{}, MaxResult: 1 << 20, Host: "host_1", Keyer: ledger.NewKeyer(make([]byte, 32)), Log: slog.New(slog.DiscardHandler),
	})
	policy := *x.Policy()
	policy.Gates, policy.Visible, policy.Hides = []executor.Gate{p, approval.Gate{}}, p.Visible, p.Hides
	x.SetPolicy(&policy)
	return x
}
