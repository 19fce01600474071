// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/face/control"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Explainer says what would become of a call.
type Explainer interface {
	Explain(ctx context.Context, name string, args json.RawMessage, as *control.Caller) (*executor.Explanation, error)
}

// Result is what became of a case.
type Result struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Name   string `json:"name,omitempty"`
	Tool   string `json:"tool"`
	Expect string `json:"expect"`
	// Got is what the rules say; empty if they were not asked.
	Got string `json:"got,omitempty"`
	// Rule is the line of the rule that decided; 0: none.
	Rule   int    `json:"rule_line,omitempty"`
	Passed bool   `json:"passed"`
	Reason string `json:"reason"`
}

// Hold asks about each case. The error is that nobody can be asked.
func Hold(ctx context.Context, host Explainer, cases []Case) ([]Result, error) {
	results := make([]Result, 0, len(cases))
	for _, c := range cases {
		r := Result{File: c.File, Line: c.Line, Name: c.Name, Tool: c.Tool, Expect: c.Expect}
		who := c.Principal
		if who == nil {
			who = &control.Caller{Kind: "anonymous"}
		}
		e, err := host.Explain(ctx, c.Tool, c.Args, who)
		absent, isAbsent := errors.AsType[*control.NotFoundError](err)
		switch {
		case isAbsent:
			r.Reason = absent.Error()
		case err != nil:
			return nil, fmt.Errorf("%s:%d: %w", c.File, c.Line, err)
		default:
			r.judge(e)
		}
		r.Passed = r.Got == c.Expect && (c.Rule == 0 || c.Rule == r.Rule)
		if r.Got == c.Expect && !r.Passed {
			r.Reason = fmt.Sprintf("line %d was to decide: %s", c.Rule, r.Reason)
		}
		results = append(results, r)
	}
	return results, nil
}

// judge takes from an explanation what the rules said. A call that ends before them
// says nothing about them, whatever was expected.
func (r *Result) judge(e *executor.Explanation) {
	for _, s := range e.Steps {
		if s.Gate != "rules" && s.Gate != "find" {
			continue
		}
		r.Reason, r.Rule = s.Reason, s.Line
		switch {
		case s.Verdict == tool.Refuse:
			r.Got = "deny"
		case s.Confirm != nil && *s.Confirm:
			r.Got = "confirm"
		default:
			r.Got = "allow"
		}
		return
	}
	r.Reason = fmt.Sprintf("the rules were not asked: %s refused it: %s", e.Gate, e.Text)
}
