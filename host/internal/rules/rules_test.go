// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// verbOf is what a policy says of a call, and why.
func verbOf(t testing.TB, p *rules.Rules, c *tool.Case) (rules.Verb, string) {
	t.Helper()
	v, err := p.Judge(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case v.Decision == tool.Refuse:
		return rules.Deny, v.Reason
	case *v.Confirm:
		return rules.Confirm, v.Reason
	}
	return rules.Allow, v.Reason
}

func TestTheFirstRuleThatMatchesWinsElseTheToolElseTheDefaults(t *testing.T) {
	yes, no := true, false
	list := []rules.Rule{
		{Verb: rules.Allow, Names: []string{"shop_undo"}, Line: 3},
		{Verb: rules.Deny, Names: []string{"shop_*", "files_delete"}, Line: 4},
		{Verb: rules.Confirm, Names: []string{"orders_[ab]*"}, Line: 5},
		{Verb: rules.Allow, Names: []string{"*"}, Line: 6},
	}
	all, err := rules.New(list, rules.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	some, err := rules.New(list[:3], rules.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	strict, err := rules.New(nil, rules.Defaults{ReadOnly: rules.Confirm, Additive: rules.Allow, Destructive: rules.Deny})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		policy *rules.Rules
		spec   tool.Spec
		want   rules.Verb
		why    string
	}{
		"the first match":                       {all, tool.Spec{Name: "shop_undo", Effects: tool.Destructive}, rules.Allow, "line 3"},
		"a later match":                         {all, tool.Spec{Name: "shop_wipe", Effects: tool.ReadOnly}, rules.Deny, "line 4"},
		"another name of one rule":              {all, tool.Spec{Name: "files_delete"}, rules.Deny, "files_delete"},
		"a class":                               {all, tool.Spec{Name: "orders_add", Effects: tool.ReadOnly}, rules.Confirm, "line 5"},
		"everything else":                       {all, tool.Spec{Name: "orders_get", Effects: tool.Destructive, Confirm: &yes}, rules.Allow, "line 6"},
		"a glob matches whole names":            {some, tool.Spec{Name: "my_shop_wipe", Effects: tool.ReadOnly}, rules.Allow, "default"},
		"read_only is allowed":                  {some, tool.Spec{Name: "x", Effects: tool.ReadOnly}, rules.Allow, "default for read_only"},
		"additive is confirmed":                 {some, tool.Spec{Name: "x", Effects: tool.Additive}, rules.Confirm, "default for additive"},
		"destructive is confirmed":              {some, tool.Spec{Name: "x", Effects: tool.Destructive}, rules.Confirm, "default for destructive"},
		"unset counts as destructive":           {some, tool.Spec{Name: "x"}, rules.Confirm, "count as destructive"},
		"unknown counts as destructive":         {some, tool.Spec{Name: "x", Effects: "harmless"}, rules.Confirm, "destructive"},
		"a tool asks to be confirmed":           {some, tool.Spec{Name: "x", Effects: tool.ReadOnly, Confirm: &yes}, rules.Confirm, "asks to be confirmed"},
		"a tool cannot excuse itself":           {some, tool.Spec{Name: "x", Effects: tool.Destructive, Confirm: &no}, rules.Confirm, "default"},
		"defaults: read_only":                   {strict, tool.Spec{Name: "x", Effects: tool.ReadOnly}, rules.Confirm, "default"},
		"defaults: additive":                    {strict, tool.Spec{Name: "x", Effects: tool.Additive}, rules.Allow, "default"},
		"defaults: destructive":                 {strict, tool.Spec{Name: "x", Effects: tool.Destructive}, rules.Deny, "default"},
		"a default does not lower confirm":      {strict, tool.Spec{Name: "x", Effects: tool.Additive, Confirm: &yes}, rules.Confirm, "asks"},
		"the operator excuses a tool":           {some, tool.Spec{Name: "x", Effects: tool.Destructive, Confirm: &no, Excused: true}, rules.Allow, "the configuration of the tool"},
		"but not from a rule":                   {all, tool.Spec{Name: "orders_add", Effects: tool.ReadOnly, Excused: true}, rules.Confirm, "line 5"},
		"nor from a default that denies":        {strict, tool.Spec{Name: "x", Effects: tool.Destructive, Excused: true}, rules.Deny, "default"},
		"a default does not lower deny by wish": {strict, tool.Spec{Name: "x", Effects: tool.Destructive, Confirm: &yes}, rules.Deny, "default"},
	} {
		t.Run(name, func(t *testing.T) {
			verb, why := verbOf(t, tc.policy, &tool.Case{Call: &tool.Call{}, Spec: &tc.spec})
			if verb != tc.want || !strings.Contains(why, tc.why) {
				t.Errorf("%s (%s), want %s (%s)", verb, why, tc.want, tc.why)
			}
			v, err := tc.policy.Judge(t.Context(), &tool.Case{Call: &tool.Call{}, Spec: &tc.spec})
			if err != nil {
				t.Fatal(err)
			}
			if denied := v.Decision == tool.Refuse; denied != (tc.want == rules.Deny) {
				t.Errorf("verdict %+v", v)
			}
			if v.Decision == tool.Refuse {
				if v.Err.Kind != tool.Denied || strings.Contains(v.Err.Text, "line") {
					t.Errorf("the caller is told %+v", v.Err)
				}
				return
			}
			if v.Confirm == nil || *v.Confirm != (tc.want == rules.Confirm) {
				t.Errorf("confirm %v", v.Confirm)
			}
		})
	}
}

func TestABadGlobIsRefusedWithItsLine(t *testing.T) {
	for _, glob := range []string{"", "[", "a[", "\\"} {
		_, err := rules.New([]rules.Rule{{Verb: rules.Deny, Names: []string{glob}, Line: 7}}, rules.Defaults{})
		if err == nil || !strings.Contains(err.Error(), "line 7") {
			t.Errorf("%q: %v", glob, err)
		}
	}
}
