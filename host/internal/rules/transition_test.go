// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestAnAdapterThatIsBehindIsJudgedByTheRulesOfThenToo(t *testing.T) {
	says := func(v rules.Verb) *rules.Rules {
		r, err := rules.New([]rules.Rule{{Verb: v, Names: []string{"*"}, Line: 1}}, rules.Defaults{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	behind := func(adapter string) bool { return adapter == "old" }
	for name, tc := range map[string]struct {
		now     rules.Verb
		before  []rules.Verb
		adapter string
		want    rules.Verb
	}{
		"one that is not behind":      {rules.Allow, []rules.Verb{rules.Deny}, "new", rules.Allow},
		"denied before":               {rules.Allow, []rules.Verb{rules.Deny}, "old", rules.Deny},
		"to be confirmed before":      {rules.Allow, []rules.Verb{rules.Confirm}, "old", rules.Confirm},
		"denied before, confirm now":  {rules.Confirm, []rules.Verb{rules.Deny}, "old", rules.Deny},
		"denied now":                  {rules.Deny, []rules.Verb{rules.Allow}, "old", rules.Deny},
		"to be confirmed now":         {rules.Confirm, []rules.Verb{rules.Allow}, "old", rules.Confirm},
		"the strictest of several":    {rules.Allow, []rules.Verb{rules.Confirm, rules.Deny, rules.Allow}, "old", rules.Deny},
		"allowed before and now":      {rules.Allow, []rules.Verb{rules.Allow}, "old", rules.Allow},
		"nothing is known of earlier": {rules.Allow, nil, "old", rules.Allow},
	} {
		t.Run(name, func(t *testing.T) {
			p := &rules.Transition{Now: says(tc.now), Behind: behind}
			for _, v := range tc.before {
				p.Before = append(p.Before, says(v))
			}
			v, err := p.Judge(t.Context(), &tool.Case{Call: &tool.Call{}, Spec: &tool.Spec{Name: "x", Adapter: tc.adapter}})
			if err != nil {
				t.Fatal(err)
			}
			if p.Visible(tool.Principal{}, &tool.Spec{Name: "x", Adapter: tc.adapter}) != (tc.want != rules.Deny) {
				t.Error("what is denied is visible, or the other way round")
			}
			got := rules.Allow
			switch {
			case v.Decision == tool.Refuse:
				got = rules.Deny
			case v.Confirm != nil && *v.Confirm:
				got = rules.Confirm
			}
			if got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
			if got != tc.now && !strings.Contains(v.Reason, "configuration before") {
				t.Errorf("reason %q", v.Reason)
			}
		})
	}
}
