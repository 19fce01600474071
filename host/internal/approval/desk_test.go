// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// shelf holds one approval, and the decision about it.
type shelf struct {
	record  approval.Record
	decided *approval.Decision
}

func (s *shelf) Approval(_ context.Context, id string) (*approval.Record, error) {
	if id != s.record.ID {
		return nil, approval.ErrNone
	}
	return &s.record, nil
}

func (s *shelf) Approvals(context.Context, approval.Query) iter.Seq2[*approval.Record, error] {
	return func(func(*approval.Record, error) bool) {}
}

func (s *shelf) Decide(_ context.Context, _ string, d approval.Decision) (*approval.Record, error) {
	s.decided = &d
	return &s.record, nil
}

func withClient(p tool.Principal, id string) tool.Principal {
	p.ClientID = id
	return p
}

func TestOnlyAnOperatorDecidesAndNoAskerItsOwnCall(t *testing.T) {
	ann := tool.Principal{Kind: tool.Operator, Subject: "ann"}
	agent := tool.Principal{Kind: tool.Token, ClientID: "agent", Issuer: "https://as.example", Subject: "x", Scopes: []string{tool.ScopeOperate}}
	ops := tool.Principal{Kind: tool.Token, ClientID: "ops", Scopes: []string{"a", tool.ScopeOperate}}
	named := tool.Principal{Kind: tool.Named, Subject: "x", Scopes: []string{tool.ScopeOperate}}
	for name, tc := range map[string]struct {
		by       tool.Principal
		asked    tool.Principal
		self     bool
		mode     approval.Mode
		decision approval.Decision
		want     error  // nil: it is decided
		says     string // of an error that is not one of the above
	}{
		"an operator":                        {by: ann, asked: agent},
		"an operator, edited":                {by: ann, asked: agent, decision: approval.Decision{Approve: true, Edited: []byte(`{"n":1}`)}},
		"an operator, a call that was typed": {by: ann, asked: ann},
		"somebody else with a token":         {by: ops, asked: agent},
		"somebody else by another name":      {by: named, asked: agent},
		"the asker by its name":              {by: named, asked: named, want: approval.ErrSelf},
		"a token that grants something else": {by: tool.Principal{Kind: tool.Token, ClientID: "ops", Scopes: []string{"toolwharf", "operate"}}, asked: agent, want: approval.ErrNotOperator},
		"the asker":                          {by: agent, asked: agent, want: approval.ErrSelf},
		"the asker, where it may":            {by: agent, asked: agent, self: true},
		"the asker by another client":        {by: withClient(agent, "page"), asked: agent, want: approval.ErrSelf},
		"the same subject elsewhere":         {by: tool.Principal{Kind: tool.Token, ClientID: "page", Issuer: "https://other.example", Subject: "x", Scopes: []string{tool.ScopeOperate}}, asked: agent},
		"a local user":                       {by: tool.Principal{Kind: tool.Stdio, Subject: "ann"}, asked: agent, want: approval.ErrNotOperator},
		"nobody":                             {asked: agent, want: approval.ErrNotOperator},
		"an operator about a form":           {by: ann, asked: agent, mode: approval.Form, says: "asked of the calling client's user"},
		"a denial with arguments":            {by: ann, asked: agent, decision: approval.Decision{Edited: []byte("{}")}, says: "edits nothing"},
		"arguments that are none":            {by: ann, asked: agent, decision: approval.Decision{Approve: true, Edited: []byte(`{"n":1,"n":2}`)}, says: "duplicate key"},
		"a reason of two lines":              {by: ann, asked: agent, decision: approval.Decision{Reason: "a\nb"}, says: "one line"},
		"a reason that is a book":            {by: ann, asked: agent, decision: approval.Decision{Reason: strings.Repeat("a", approval.MaxReason+1)}, says: "one line"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shelf{record: approval.Record{ID: "apr_1", Status: approval.Pending, Mode: tc.mode, Principal: tc.asked.String()}}
			_, err := (&approval.Desk{Store: s, Self: tc.self}).Decide(t.Context(), "apr_1", tc.by, tc.decision)
			switch {
			case tc.want != nil && !errors.Is(err, tc.want), tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
				t.Errorf("error %v", err)
			case tc.want == nil && tc.says == "" && (err != nil || s.decided == nil || s.decided.By != tc.by.String()):
				t.Errorf("decided %+v, %v", s.decided, err)
			case err != nil && s.decided != nil:
				t.Errorf("refused, and decided %+v", s.decided)
			}
		})
	}
	_, err := (&approval.Desk{Store: &shelf{}}).Decide(t.Context(), "apr_2", ann, approval.Decision{})
	if !errors.Is(err, approval.ErrNone) {
		t.Errorf("an id that is none: %v", err)
	}
}

func TestEditedArgumentsHaveToFitAndOtherSpellingsEditNothing(t *testing.T) {
	ann := tool.Principal{Kind: tool.Operator, Subject: "ann"}
	for edited, want := range map[string]string{
		`{"n":2}`:                   `{"n":2}`,
		`{ "n": 1.0 }`:              "",
		`{"n":1,"more":"too much"}`: "edited arguments: more is not known",
		`{"n":`:                     "edited arguments",
	} {
		s := &shelf{record: approval.Record{ID: "apr_1", Status: approval.Pending, Tool: "shop_pay", Args: []byte(`{"n":1}`)}}
		desk := approval.Desk{Store: s, Fits: func(name string, args tool.JSON) *tool.Error {
			if name == "shop_pay" && strings.Contains(string(args.Bytes()), "more") {
				return tool.Errorf(tool.ArgsInvalid, "invalid_args", "more is not known")
			}
			return nil
		}}
		_, err := desk.Decide(t.Context(), "apr_1", ann, approval.Decision{Approve: true, Edited: []byte(edited)})
		if err != nil {
			var fault *approval.FaultError
			if !errors.As(err, &fault) || !strings.Contains(fault.Text, want) || want == "" || s.decided != nil {
				t.Errorf("%s: %v, decided %+v", edited, err, s.decided)
			}
			continue
		}
		if string(s.decided.Edited) != want {
			t.Errorf("%s: edited to %q", edited, s.decided.Edited)
		}
	}
}

func TestWhatIsDecidedAlreadyIsSaidBeforeWhatIsWrongWithAnEdit(t *testing.T) {
	s := &shelf{record: approval.Record{ID: "apr_1", Status: approval.Expired}}
	desk := approval.Desk{Store: s, Fits: func(string, tool.JSON) *tool.Error { return tool.Errorf(tool.ArgsInvalid, "", "no") }}
	_, err := desk.Decide(t.Context(), "apr_1", tool.Principal{Kind: tool.Operator}, approval.Decision{Approve: true, Edited: []byte("{}")})
	var status *approval.StatusError
	if !errors.As(err, &status) || status.Status != approval.Expired || s.decided != nil {
		t.Errorf("%v, decided %+v", err, s.decided)
	}
}

func TestApproversNarrowWhoMayDecideAboutWhat(t *testing.T) {
	ann := tool.Principal{Kind: tool.Operator, Subject: "ann"}
	ops := tool.Principal{Kind: tool.Token, ClientID: "ops", Subject: "bob", Scopes: []string{tool.ScopeOperate, "pay"}}
	for name, c := range map[string]struct {
		condition string
		by        tool.Principal
		edited    string
		want      error
	}{
		"who it names":                    {`principal.subject == "bob"`, ops, "", nil},
		"another, the operator token too": {`principal.subject == "bob"`, ann, "", approval.ErrNotApprover},
		"by its scope":                    {`"pay" in principal.scopes`, ops, "", nil},
		"by the tool":                     {`tool.name != "shop_pay"`, ops, "", approval.ErrNotApprover},
		"by the adapter and the effects":  {`tool.adapter == "shop" && tool.effects == "additive"`, ops, "", nil},
		"by the arguments":                {`args.n < 10`, ops, "", nil},
		"by what would run":               {`args.n < 10`, ops, `{"n":11}`, approval.ErrNotApprover},
		"what cannot be judged":           {`args.m < 10`, ops, "", approval.ErrNotApprover},
	} {
		w, err := rules.NewWhen(c.condition)
		if err != nil {
			t.Fatal(err)
		}
		s := &shelf{record: approval.Record{
			ID: "apr_1", Status: approval.Pending, Principal: "x", Tool: "shop_pay", Adapter: "shop", Effects: tool.Additive, Args: []byte(`{"n":1}`),
		}}
		d := approval.Decision{Approve: true}
		if c.edited != "" {
			d.Edited = []byte(c.edited)
		}
		_, err = (&approval.Desk{Store: s, Approvers: w}).Decide(t.Context(), "apr_1", c.by, d)
		if !errors.Is(err, c.want) || (s.decided != nil) != (c.want == nil) {
			t.Errorf("%s: decided %+v, %v", name, s.decided, err)
		}
	}
}
