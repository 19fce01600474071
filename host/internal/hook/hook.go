// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package hook lets adapters judge and edit the calls of other adapters' tools:
// before validation and rules, so that what they return is what is judged,
// approved and run; and after the call, before its result is checked and redacted.
// A hook acts only on the tools and with the powers that the operator has named.
package hook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Power is something that a hook may do.
type Power string

// The powers.
const (
	// Refuse: it sees calls and results, and may refuse either.
	Refuse Power = "refuse"
	// EditArguments: it may change what is called.
	EditArguments Power = "edit_arguments"
	// EditResult: it may change what is answered.
	EditResult Power = "edit_result"
)

// DefaultTimeout is how long a hook may take for one judgement.
const DefaultTimeout = 5 * time.Second

// Adapters is where hooks are served.
type Adapters interface {
	Hold(adapter string) (runner tool.Runner, release func(), ok bool)
}

// Hook is one entry of the operator's list. It is immutable.
type Hook struct {
	// Adapter serves it.
	Adapter string
	// Tools are globs of public names.
	Tools  []string
	Powers []Power
	// Timeout of one judgement; 0 is DefaultTimeout.
	Timeout time.Duration
	// FailOpen: a hook that fails, is absent or oversteps its powers has
	// nothing against the call. Otherwise the call is refused.
	FailOpen bool
	// On is where Adapter is found.
	On  Adapters
	Log *slog.Logger
}

// Name is what ledger and explain call it.
func (h *Hook) Name() string { return "hook:" + h.Adapter }

// Origin is the adapter, whose secrets may be in what the hook says.
func (h *Hook) Origin() string { return h.Adapter }

// sees reports whether the hook acts on a call, with one of these powers.
func (h *Hook) sees(c *tool.Case, powers ...Power) bool {
	if c.Op != tool.OpTool || !slices.ContainsFunc(powers, h.may) {
		return false
	}
	return slices.ContainsFunc(h.Tools, func(glob string) bool { return rules.Matches(glob, c.Spec.Name) })
}

func (h *Hook) may(p Power) bool { return slices.Contains(h.Powers, p) }

// Judge asks about a call that is about to be judged.
func (h *Hook) Judge(ctx context.Context, c *tool.Case) (tool.Verdict, error) {
	if !h.sees(c, Refuse, EditArguments) {
		return tool.Passed("not concerned"), nil
	}
	j, fault := h.ask(ctx, c, tool.OpBefore, nil)
	switch {
	case fault != nil:
		return h.failed(ctx, c, fault), nil
	case j.Refusal != nil:
		return tool.Refused("refused: "+j.Refusal.Error(), j.Refusal), nil //nolint:nilerr // the verdict has it
	case !j.Args.IsZero() && j.Args.Digest() != c.Args.Digest():
		return tool.Verdict{Decision: tool.Edit, Reason: "it has edited the arguments", Args: j.Args}, nil
	default:
		return tool.Passed("nothing against it"), nil
	}
}

// Apply asks about a call that has succeeded, and edits the result in place.
func (h *Hook) Apply(ctx context.Context, c *tool.Case, r *tool.Result) error {
	if !h.sees(c, Refuse, EditResult) {
		return nil
	}
	j, fault := h.ask(ctx, c, tool.OpAfter, r)
	switch {
	case fault != nil:
		if v := h.failed(ctx, c, fault); v.Err != nil {
			return v.Err
		}
	case j.Refusal != nil:
		return j.Refusal
	case j.Result != nil:
		j.Result.Cost = r.Cost // what it cost is the adapter's word
		*r = *j.Result
	}
	return nil
}

// ask gets one judgement.
func (h *Hook) ask(ctx context.Context, c *tool.Case, op tool.Op, r *tool.Result) (*tool.Judgement, error) {
	timeout := h.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	runner, release, ok := h.On.Hold(h.Adapter)
	if !ok {
		return nil, errors.New("its adapter is not there")
	}
	defer release()
	call := *c.Call
	call.Op, call.Events, call.Answers, call.State = op, nil, nil, nil
	call.Run, call.Key = "", "" // the client's own
	out, err := runner.Run(ctx, &tool.Attempt{
		Call: &call, ID: c.ID, RunID: c.RunID, N: 1,
		Spec:   tool.Spec{Op: op, Adapter: h.Adapter, Effects: tool.ReadOnly},
		Hooked: &tool.Hooked{Tool: c.Spec.Name, Adapter: c.Spec.Adapter, Args: c.Args, Result: r},
	})
	if err != nil {
		return nil, err
	}
	j, ok := out.(*tool.Judgement)
	if !ok {
		return nil, fmt.Errorf("it answered with %T", out)
	}
	return j, h.oversteps(j)
}

// oversteps reports a judgement that is beyond the hook's powers.
func (h *Hook) oversteps(j *tool.Judgement) error {
	for _, does := range []struct {
		what  string
		it    bool
		power Power
	}{
		{"refuses", j.Refusal != nil, Refuse},
		{"edits arguments", !j.Args.IsZero(), EditArguments},
		{"edits results", j.Result != nil, EditResult},
	} {
		if does.it && !h.may(does.power) {
			return fmt.Errorf("it %s, which is not among its powers %v", does.what, h.Powers)
		}
	}
	return nil
}

// failed is a hook that gave no judgement. Who cancels the call has not made it
// fail.
func (h *Hook) failed(ctx context.Context, c *tool.Case, fault error) tool.Verdict {
	if ctx.Err() != nil {
		return tool.Refused("the call ended", tool.Interrupted(ctx, "a hook was judging the call"))
	}
	h.Log.Error("hook gave no judgement", "hook", h.Adapter, "call", c.ID, "tool", c.Spec.Name, "fail_open", h.FailOpen, "error", fault)
	if h.FailOpen {
		return tool.Passed("it failed, and is configured to fail open: " + fault.Error())
	}
	return tool.Refused("it failed, and so the call is refused: "+fault.Error(), &tool.Error{
		Kind: tool.Denied, Code: "hook_failed", Err: fault,
		Text: fmt.Sprintf("%s is not allowed now: what has to judge it is out of order", c.Spec.Name),
	})
}
