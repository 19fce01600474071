// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"fmt"

	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Names of the places, beside the configured gates, where a call can end.
const (
	gateDoor     = "door"
	gateValidate = "validate"
	gateSlot     = "slot"
	gateBegin    = "begin"
)

// judge asks the gates in turn, applying edits to the case, until one of them
// does not pass. It tells seen, if not nil, of each verdict, and returns the
// last gate and verdict: Pass, or Refuse with an error.
func (x *Executor) judge(ctx context.Context, c *tool.Case, offer *registry.Offer, seen func(gate string, v tool.Verdict)) (string, tool.Verdict) {
	gates := append([]Gate{validate{offer}}, x.gates...)
	var name string
	v := tool.Passed("no gate")
	for _, g := range gates {
		name = g.Name()
		v = ask(ctx, g, c)
		if seen != nil {
			seen(name, v)
		}
		switch v.Decision {
		case tool.Pass:
		case tool.Edit:
			c.Args = v.Args
			v = tool.Passed(v.Reason)
		case tool.Ask, tool.Refuse:
			return name, v
		}
	}
	return name, v
}

// ask asks one gate. A gate that fails or says nothing refuses: policy fails
// closed.
func ask(ctx context.Context, g Gate, c *tool.Case) tool.Verdict {
	v, err := g.Judge(ctx, c)
	if err == nil && v.Decision == tool.Refuse && v.Err == nil {
		err = fmt.Errorf("gate %s refused without an error", g.Name())
	}
	if err == nil && v.Decision == tool.Edit && v.Args.IsZero() {
		err = fmt.Errorf("gate %s edited the arguments away", g.Name())
	}
	switch {
	case err != nil:
	case v.Decision == tool.Pass, v.Decision == tool.Edit, v.Decision == tool.Refuse:
		return v
	case v.Decision == tool.Ask:
		return tool.Refused(v.Reason, tool.Errorf(tool.ApprovalDenied, "approval_required",
			"%s was not run: it needs approval, and nobody can be asked", c.Spec.Name))
	default:
		err = fmt.Errorf("gate %s gave no decision", g.Name())
	}
	return tool.Refused(err.Error(), tool.Failed("policy", err))
}

// validate is the first gate: the arguments against the tool's schema.
type validate struct{ offer *registry.Offer }

func (validate) Name() string { return gateValidate }

func (g validate) Judge(_ context.Context, c *tool.Case) (tool.Verdict, error) {
	v := tool.Passed("the arguments match the tool's input schema")
	args := c.Args
	if g.offer.Spec.Lenient {
		coerced, err := schema.Coerce(g.offer.Input, args)
		if err != nil {
			return tool.Verdict{}, err
		}
		args = coerced
		v.Decision, v.Args = tool.Edit, args
	}
	if err := g.offer.Input.Validate(args); err != nil {
		return tool.Refused("the arguments do not match the tool's input schema", tool.AsError(err)), nil
	}
	return v, nil
}
