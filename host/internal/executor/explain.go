// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Explanation is what would happen to a call, and why.
type Explanation struct {
	Tool    string       `json:"tool"`
	Adapter string       `json:"adapter"`
	Effects tool.Effects `json:"effects"`
	// Verdict is "pass", "ask" or "refuse".
	Verdict tool.Decision `json:"verdict"`
	// Gate is the one that decided, with Refuse.
	Gate string    `json:"gate,omitempty"`
	Kind tool.Kind `json:"error_kind,omitempty"`
	Code string    `json:"error_code,omitempty"`
	Text string    `json:"text,omitempty"`
	// Steps are the gates that were asked, in order.
	Steps []Step `json:"steps"`
}

// Step is one gate's verdict.
type Step struct {
	Gate    string        `json:"gate"`
	Verdict tool.Decision `json:"verdict"`
	Reason  string        `json:"reason"`
	// Line is that of the operator's rule that says so; 0: none does.
	Line int `json:"line,omitempty"`
	// Confirm says whether somebody has to decide about the call; nil: the gate
	// says nothing about that.
	Confirm *bool `json:"confirm,omitempty"`
}

func stepOf(gate string, v tool.Verdict) Step {
	return Step{Gate: gate, Verdict: v.Decision, Reason: v.Reason, Line: v.Line, Confirm: v.Confirm}
}

// Explain asks the gates about a call and sends nothing. The error is an
// *UnknownError.
func (x *Executor) Explain(ctx context.Context, call *tool.Call) (*Explanation, error) {
	entry, release, ok := x.acquire(call)
	if !ok {
		return nil, &UnknownError{call.Op, call.Name}
	}
	defer release()
	policy := x.Policy()
	c := newCase(call, entry.Offer, policy)
	e := &Explanation{Tool: c.Spec.Name, Adapter: c.Spec.Adapter, Effects: c.Spec.Effects.Effective(), Steps: []Step{}}
	if hidden, v := policy.hidden(c); hidden {
		e.Steps = append(e.Steps, stepOf(gateFind, v))
		e.Verdict, e.Gate, e.Kind, e.Code, e.Text = v.Decision, gateFind, v.Err.Kind, v.Err.Code, (&UnknownError{c.Op, c.Name}).Error()
		return e, nil
	}
	gate, failed := x.before(ctx, c, policy, func(gate string, v tool.Verdict) {
		e.Steps = append(e.Steps, stepOf(gate, v))
	})
	if failed != nil {
		e.Verdict, e.Gate, e.Kind, e.Code, e.Text = tool.Refuse, gate, failed.Kind, failed.Code, failed.Text
		return e, nil
	}
	if coerced, err := coerce(c, entry.Offer); err == nil {
		c.Args = coerced
	}
	gate, v := x.judge(ctx, c, policy, entry.Offer, func(gate string, v tool.Verdict) {
		e.Steps = append(e.Steps, stepOf(gate, v))
	})
	if v.Decision == tool.Pass {
		gate, v = policy.Limits.Name(), ask(ctx, policy.Limits, c)
		e.Steps = append(e.Steps, stepOf(gate, v))
	}
	if reason, ok := x.explainAnswer(c, policy); ok && v.Decision == tool.Pass {
		e.Steps = append(e.Steps, stepOf(gateCache, tool.Passed(reason)))
	}
	e.Verdict = v.Decision
	if v.Decision == tool.Ask {
		e.Gate, e.Kind, e.Text = gate, tool.ApprovalPending, v.Reason
	}
	if v.Err != nil {
		e.Gate, e.Kind, e.Code, e.Text = gate, v.Err.Kind, v.Err.Code, v.Err.Text
	}
	return e, nil
}
