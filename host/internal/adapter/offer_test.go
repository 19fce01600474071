// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// offersOf are the offers of a catalogue, whatever program they are from.
func offersOf(d *Desired, c Catalog) ([]*registry.Offer, []string) {
	return Offers(d, c, tool.Digest{}, nil)
}

var object = json.RawMessage(`{"type":"object"}`)

func TestAnOfferIsASealedSpecUnderItsPublicNameWithItsSchemas(t *testing.T) {
	offers, notes := offersOf(desired(), Catalog{Tools: []tool.Spec{
		{Declared: "items.get", Title: "Get\xff", Description: "Gets\xff.", Input: object, Output: json.RawMessage(`{"type":"array"}`), Effects: tool.ReadOnly},
		{Declared: "put"},
	}})
	if len(notes) != 0 {
		t.Errorf("notes %q", notes)
	}
	want := []*registry.Offer{
		{
			Spec: tool.Spec{
				Name: "orders_items_get", Adapter: "orders", Declared: "items.get", Title: "Get\uFFFD", Description: "Gets\uFFFD.",
				Input: object, Output: json.RawMessage(`{"type":"array"}`), Effects: tool.ReadOnly,
			},
			Alias: "orders_items.get", Limits: registry.Limits{Timeout: time.Second, MaxInFlight: 2},
		},
		{
			Spec:   tool.Spec{Name: "orders_put", Adapter: "orders", Declared: "put"},
			Limits: registry.Limits{Timeout: time.Second, MaxInFlight: 2},
		},
	}
	for _, o := range want {
		o.Spec.Seal()
	}
	if diff := cmp.Diff(want, offers, cmpopts.IgnoreTypes(&schema.Schema{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if offers[0].Input == nil || offers[0].Output == nil || offers[1].Input == nil || offers[1].Output != nil {
		t.Error("compiled schemas: one of each schema that there is, and an input in any case")
	}
}

func TestAToolThatIsAtFaultIsLeftOutAndCostsTheOthersNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		spec tool.Spec
		why  string
	}{
		"no name":                   {tool.Spec{}, `tool "" left out: a tool's name has 1 to 128`},
		"a bad name":                {tool.Spec{Declared: "drop table"}, `tool "drop table" left out: a tool's name has 1 to 128 of A-Z a-z 0-9 _ . -`},
		"a name with a newline":     {tool.Spec{Declared: "get\n"}, `tool "get\n" left out`},
		"a very long name":          {tool.Spec{Declared: strings.Repeat("x", 129)}, "left out: a tool's name has 1 to 128"},
		"a very long title":         {tool.Spec{Declared: "x", Title: strings.Repeat("x", 257)}, "its title or description is longer"},
		"a very long description":   {tool.Spec{Declared: "x", Description: strings.Repeat("x", 16<<10+1)}, "its title or description is longer"},
		"an input that is no JSON":  {tool.Spec{Declared: "x", Input: json.RawMessage(`{`)}, "input schema: "},
		"an input of another type":  {tool.Spec{Declared: "x", Input: json.RawMessage(`{"type":"string"}`)}, "input schema: "},
		"an output that is no JSON": {tool.Spec{Declared: "x", Input: object, Output: json.RawMessage(`{`)}, "output schema: "},
		"the name of another":       {tool.Spec{Declared: "good"}, `tool "good" left out: its public name orders_good is that of "good"`},
		"the public name of another": {
			tool.Spec{Declared: "also.good"}, `tool "also.good" left out: its public name orders_also_good is that of "also_good"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			offers, notes := offersOf(desired(), Catalog{
				Tools: []tool.Spec{{Declared: "good"}, {Declared: "also_good"}, tc.spec, {Declared: "last"}},
				Notes: []string{"the plugin's own"},
			})
			var names []string
			for _, o := range offers {
				names = append(names, o.Spec.Declared)
			}
			if diff := cmp.Diff([]string{"good", "also_good", "last"}, names); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(notes) != 2 || !strings.Contains(notes[0], tc.why) || notes[1] != "the plugin's own" {
				t.Errorf("notes %q, want %q", notes, tc.why)
			}
		})
	}
}

func TestAnAdapterHasAtMostAThousandTools(t *testing.T) {
	var c Catalog
	for i := range MaxTools + 5 {
		c.Tools = append(c.Tools, tool.Spec{Declared: fmt.Sprintf("t%d", i)})
	}
	offers, notes := offersOf(desired(), c)
	if len(offers) != MaxTools || offers[MaxTools-1].Spec.Declared != "t999" {
		t.Errorf("%d offers", len(offers))
	}
	if want := "5 tools left out: one adapter may have 1000"; len(notes) != 1 || notes[0] != want {
		t.Errorf("notes %q", notes)
	}
}

func TestOfManyFaultsAFewAreNamedAndTheRestCounted(t *testing.T) {
	var c Catalog
	for range MaxTools + 5 {
		c.Tools = append(c.Tools, tool.Spec{Declared: "drop table"})
		c.Notes = append(c.Notes, "its own")
	}
	_, notes := offersOf(desired(), c)
	if len(notes) != 2*(maxNotes+1)+1 || notes[maxNotes] != "and 980 more like these" ||
		notes[maxNotes+1] != "5 tools left out: one adapter may have 1000" || notes[len(notes)-1] != "and 985 more like these" {
		t.Errorf("%d notes: %q", len(notes), notes)
	}
}

func TestWithoutAPrefixTheNameIsTheDeclaredOne(t *testing.T) {
	d := desired()
	d.Prefix = ""
	offers, _ := offersOf(d, Catalog{Tools: []tool.Spec{{Declared: "get"}}})
	if offers[0].Spec.Name != "get" || offers[0].Alias != "" {
		t.Errorf("%+v", offers[0])
	}
}
