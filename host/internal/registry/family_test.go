// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"slices"
	"testing"

	"github.com/yosida95/uritemplate/v3"

	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// readables of one adapter; a URI with a brace is a family.
func readables(adapter string, uris ...string) []*registry.Offer {
	var out []*registry.Offer
	for _, uri := range uris {
		o := &registry.Offer{
			Resource: &tool.Resource{URI: uri},
			Spec:     tool.Spec{Op: tool.OpResource, Name: tool.ResourceName(uri), Adapter: adapter, Declared: uri},
		}
		if t, err := uritemplate.New(uri); err == nil && len(t.Varnames()) > 0 {
			o.Family = t.Regexp()
		}
		out = append(out, o)
	}
	return out
}

func TestAURIIsFoundInTheFamilyThatNamesMostOfIt(t *testing.T) {
	r := registry.New()
	replace(t, r, "greedy", &runner{"greedy"}, readables("greedy", "note:{+all}", "note://b/special"))
	replace(t, r, "notes", &runner{"notes"}, readables("notes", "note://a/{id}", "note://a/b/{id}"))
	for uri, want := range map[string]string{
		"note://a/1":       "note://a/{id}",
		"note://a/b/1":     "note://a/b/{id}",
		"note://a/c/1":     "note:{+all}",
		"note://b/special": "note://b/special",
		"note:x":           "note:{+all}",
		"notes:x":          "",
		"note://a/{id}":    "note://a/{id}",
	} {
		e, release, ok := r.Acquire(tool.ResourceName(uri))
		if !ok {
			if want != "" {
				t.Errorf("%s was not found", uri)
			}
			continue
		}
		release()
		if e.Spec.Declared != want || e.Spec.Name != tool.ResourceName(uri) {
			t.Errorf("%s is %s of %s", uri, e.Spec.Name, e.Spec.Declared)
		}
	}
}

func TestWhoHadAURIFirstKeepsItAndThenTheOtherHasIt(t *testing.T) {
	r := registry.New()
	owner := func() string {
		o, ok := r.Snapshot().Find(tool.ResourceName("note://1"))
		if !ok {
			return ""
		}
		return o.Spec.Adapter
	}
	replace(t, r, "late", &runner{"late"}, readables("late", "note://1", "note://late"))
	replace(t, r, "early", &runner{"early"}, readables("early", "note://1", "note://early")) // comes first by name
	if got := owner(); got != "late" {
		t.Errorf("it is %s's", got)
	}
	if got := r.Snapshot().Shadowed("early"); !slices.Equal(got, []string{"resources:note://1"}) || r.Snapshot().Shadowed("late") != nil {
		t.Errorf("shadowed: %v", got)
	}
	var uris []string
	for _, o := range r.Snapshot().Resources {
		uris = append(uris, o.Resource.URI+" of "+o.Spec.Adapter)
	}
	if !slices.Equal(uris, []string{"note://1 of late", "note://early of early", "note://late of late"}) {
		t.Errorf("listed: %v", uris)
	}
	replace(t, r, "late", nil, nil)
	if got := owner(); got != "early" {
		t.Errorf("then it is %s's", got)
	}
}

func TestPromptsCollideAsToolsDoAndNeverWithThem(t *testing.T) {
	r := registry.New()
	prompt := func(adapter string) []*registry.Offer {
		return []*registry.Offer{{Prompt: &tool.Prompt{Name: "x"}, Spec: tool.Spec{Op: tool.OpPrompt, Name: tool.PromptName("x"), Adapter: adapter}}}
	}
	replace(t, r, "tools", &runner{"tools"}, offers("tools", "x"))
	replace(t, r, "a", &runner{"a"}, prompt("a"))
	if _, err := r.Replace("b", &runner{"b"}, prompt("b")); err == nil ||
		err.Error() != "prompt prompts:x of adapter b collides with that of adapter a; give one of them another prefix" {
		t.Errorf("got %v", err)
	}
	if s := r.Snapshot(); len(s.Offers) != 1 || len(s.Prompts) != 1 {
		t.Errorf("%d tools, %d prompts", len(s.Offers), len(s.Prompts))
	}
}

func TestAnAliasIsNeverOfAnotherKind(t *testing.T) {
	r := registry.New()
	replace(t, r, "tools", &runner{"tools"}, []*registry.Offer{aliased("tools", "resources_x", "resources:x")})
	if _, ok := r.Snapshot().Find("resources:x"); ok {
		t.Error("a tool is found by a resource's name")
	}
}
