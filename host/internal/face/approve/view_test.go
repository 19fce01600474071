// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestThePartsOfATokenCannotImitateEachOther(t *testing.T) {
	for principal, want := range map[string][]part{
		`["desk","https://as.example","ada"]`:  {{"client", "desk"}, {"issuer", "https://as.example"}, {"subject", "ada"}},
		`["desk","",""]`:                       {{"client", "desk"}},
		"[\"a subject ops\u202e\",\"\",\"x\"]": {{"client", `a subject ops\u{202e}`}, {"subject", "x"}},
		"stdio/local/ada":                      {{"local user", "ada"}},
		"named/operator/root":                  {{"caller", "operator/root"}},
		"operator/root":                        {{"operator", "root"}},
		"anonymous":                            {{"", "a caller without a name"}},
		"named/anonymous":                      {{"caller", "anonymous"}},
		"client/anonymous":                     {{"the client's user, for", "anonymous"}},
		"something\nelse":                      {{"", `something\u{a}else`}},
	} {
		if diff := cmp.Diff(want, parts(principal)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", principal, diff)
		}
	}
}

func TestOnlyWhatWaitsForAnOperatorIsOpen(t *testing.T) {
	ann := tool.Principal{Kind: tool.Operator, Subject: "ann"}
	ops := tool.Principal{Kind: tool.Token, ClientID: "ops", Scopes: []string{tool.ScopeOperate}}
	spec := tool.DigestOf([]byte("spec"))
	p := &page{Config: Config{Desk: &approval.Desk{}, MaxForm: 1 << 20, Tool: func(string) (string, tool.Digest, tool.Digest, bool) {
		return "Pay", spec, tool.Digest{}, true
	}}}
	now := time.Now()
	for name, c := range map[string]struct {
		record  approval.Record
		who     tool.Principal
		open    bool
		changed bool
	}{
		"pending":                        {approval.Record{Status: approval.Pending, Spec: spec}, ann, true, false},
		"pending, of another tool":       {approval.Record{Status: approval.Pending}, ann, true, true},
		"pending, of another":            {approval.Record{Status: approval.Pending, Spec: spec, Principal: "named/x"}, ops, true, false},
		"pending, asked by who looks":    {approval.Record{Status: approval.Pending, Spec: spec, Principal: ops.String()}, ops, false, false},
		"pending, asked by the operator": {approval.Record{Status: approval.Pending, Spec: spec, Principal: ann.String()}, ann, true, false},
		"asked of the client's user":     {approval.Record{Status: approval.Pending, Spec: spec, Mode: approval.Form}, ann, false, false},
		"approved":                       {approval.Record{Status: approval.Approved, Spec: spec}, ann, false, false},
		"approved, of another tool":      {approval.Record{Status: approval.Approved}, ann, false, true},
		"denied":                         {approval.Record{Status: approval.Denied}, ann, false, false},
		"used":                           {approval.Record{Status: approval.Used}, ann, false, false},
		"expired":                        {approval.Record{Status: approval.Expired}, ann, false, false},
		"withdrawn":                      {approval.Record{Status: approval.Withdrawn}, ann, false, false},
	} {
		c.record.Args = []byte("{}")
		v := p.view(&c.record, &session{who: c.who}, now)
		if v.Open != c.open || (v.Changed != "") != c.changed || v.Open == (v.Outcome != "") || v.State == "" {
			t.Errorf("%s: %+v", name, v)
		}
	}
	large := approval.Record{Status: approval.Pending, Args: []byte(`{"a":"` + strings.Repeat("x", 1<<20) + `"}`)}
	if v := p.view(&large, &session{who: ann}, now); v.Editable || !v.Open {
		t.Error("what no form can carry is offered to be edited")
	}
}
