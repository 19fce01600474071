// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package adapter_test

import (
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestResourcesFamiliesAndPromptsAreOffered(t *testing.T) {
	d := &adapter.Desired{Name: "notes", Prefix: "notes_"}
	offers, notes := adapter.Offers(d, adapter.Catalog{
		Resources: []tool.Resource{{URI: "note://1", Name: "one"}},
		Families:  []tool.Resource{{URI: "note://{id}", Name: "each"}},
		Prompts:   []tool.Prompt{{Name: "sum up", Title: "bad"}, {Name: "sum.up", Arguments: []tool.PromptArgument{{Name: "id", Required: true}}}},
	}, tool.Digest{}, nil)
	if len(notes) != 1 || !strings.Contains(notes[0], `prompt "sum up" left out`) {
		t.Errorf("notes %v", notes)
	}
	var names []string
	for _, o := range offers {
		names = append(names, o.Spec.Name)
		if o.Spec.Effects != tool.ReadOnly || o.Spec.Digest.IsZero() || o.Spec.Serves(tool.OpTool) {
			t.Errorf("%+v", o.Spec)
		}
	}
	if got := strings.Join(names, " "); got != "resources:note://1 resources:note://{id} prompts:notes_sum_up" {
		t.Errorf("offered %s", got)
	}
	prompt := offers[2]
	for args, ok := range map[string]bool{`{"id":"7"}`: true, `{}`: false, `{"id":7}`: false, `{"id":"7","more":"x"}`: false} {
		j, err := tool.ParseArgs([]byte(args))
		if err != nil {
			t.Fatal(err)
		}
		if err := prompt.Input.Validate(j); (err == nil) != ok {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// A catalogue is offered again whenever it is refreshed, while what was offered
// before is read.
func TestWhatIsOfferedIsMendedInTheOfferAndNotInTheCatalogue(t *testing.T) {
	c := adapter.Catalog{Prompts: []tool.Prompt{{Name: "sum", Arguments: []tool.PromptArgument{{Name: "id", Title: "the \xff"}}}}}
	offers, notes := adapter.Offers(&adapter.Desired{Name: "notes"}, c, tool.Digest{}, nil)
	if len(offers) != 1 || len(notes) != 0 {
		t.Fatalf("%d offers, notes %v", len(offers), notes)
	}
	if got := offers[0].Prompt.Arguments[0].Title; got != "the \uFFFD" {
		t.Errorf("offered %q", got)
	}
	if got := c.Prompts[0].Arguments[0].Title; got != "the \xff" {
		t.Errorf("the catalogue has %q now", got)
	}
}

func TestWhatCannotBeReadIsLeftOutAndNamed(t *testing.T) {
	long := "x:" + strings.Repeat("a", 3000)
	for want, c := range map[string]adapter.Catalog{
		"does not begin with a scheme": {Resources: []tool.Resource{{URI: "/etc/passwd", Name: "n"}}},
		"it has no name":               {Resources: []tool.Resource{{URI: "note://1"}}},
		"more than 2048 bytes":         {Resources: []tool.Resource{{URI: long, Name: "n"}}},
		"characters that none has":     {Resources: []tool.Resource{{URI: "note://a\u202eb", Name: "n"}}},
		"cannot be read":               {Resources: []tool.Resource{{URI: "note://{id}", Name: "n"}}},
		"is the host's":                {Resources: []tool.Resource{{URI: "Toolwharf://result/x", Name: "n"}}},
		"is that of":                   {Resources: []tool.Resource{{URI: "note://1", Name: "n"}, {URI: "note://1", Name: "m"}}},
		"its template has no variable": {Families: []tool.Resource{{URI: "note://1", Name: "n"}}},
		"its template:":                {Families: []tool.Resource{{URI: "note://{id", Name: "n"}}},
		"begin with a scheme":          {Families: []tool.Resource{{URI: "{+all}", Name: "n"}}},
		"empty, too long or taken":     {Prompts: []tool.Prompt{{Name: "p", Arguments: []tool.PromptArgument{{Name: "a"}, {Name: "a"}}}}},
		"more than 64 parameters":      {Prompts: []tool.Prompt{{Name: "p", Arguments: make([]tool.PromptArgument, 65)}}},
		"1 resource templates left out: one adapter may have 100": {Families: families(101)},
	} {
		if _, notes := adapter.Offers(&adapter.Desired{Name: "notes"}, c, tool.Digest{}, nil); len(notes) != 1 || !strings.Contains(notes[0], want) {
			t.Errorf("want %q, got %v", want, notes)
		}
	}
}

func families(n int) []tool.Resource {
	var out []tool.Resource
	for i := range n {
		out = append(out, tool.Resource{URI: "note://" + strings.Repeat("x", i) + "/{id}", Name: "n"})
	}
	return out
}

func FuzzATemplateIsTakenOrRefused(f *testing.F) {
	for _, s := range []string{"note://{id}", "x:{+a}{/b*}{?c,d}", "x:{a:1000}", "x:{a:1001}", "x:{", "x:{}", "x:{&é}"} {
		f.Add(s, "note://1")
	}
	f.Fuzz(func(t *testing.T, template, uri string) {
		offers, notes := adapter.Offers(&adapter.Desired{Name: "notes"},
			adapter.Catalog{Families: []tool.Resource{{URI: template, Name: "n"}}}, tool.Digest{}, nil)
		if len(offers)+len(notes) != 1 {
			t.Fatalf("%d offers, notes %v", len(offers), notes)
		}
		if len(offers) == 1 {
			offers[0].Family.MatchString(uri)
		}
	})
}
