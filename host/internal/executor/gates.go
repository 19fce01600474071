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
	gateFind      = "find"
	gateAdmission = "admission"
	gateCapable   = "capable"
	gateDoor      = "door"
	gatePrior     = "prior"
	gateValidate  = "validate"
	gateCache     = "cache"
	gateSlot      = "slot"
	gateBegin     = "begin"
)

// judge asks the gates in turn, applying edits to the case, until one of them
// does not pass. It tells seen, if not nil, of each verdict, and returns the
// last gate and verdict: Pass, or Refuse with an error.
func (x *Executor) judge(ctx context.Context, c *tool.Case, p *Policy, offer *registry.Offer, seen func(gate string, v tool.Verdict)) (string, tool.Verdict) {
	gates := append([]Gate{validate{offer}}, p.Gates...)
	if len(c.Spec.Needs) > 0 {
		gates = append([]Gate{capable{}}, gates...)
	}
	var name string
	v := tool.Passed("no gate")
	for _, g := range gates {
		name = g.Name()
		v = ask(ctx, g, c)
		if seen != nil {
			seen(name, v)
		}
		if v.Confirm != nil {
			c.Confirm, c.Why = *v.Confirm, v.Reason
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
	case v.Decision == tool.Pass, v.Decision == tool.Edit, v.Decision == tool.Ask, v.Decision == tool.Refuse:
		return v
	default:
		err = fmt.Errorf("gate %s gave no decision", g.Name())
	}
	return tool.Refused(err.Error(), tool.Failed("policy", err))
}

// coerce applies the coercions that a tool's spec allows, before anything is
// compared or judged.
func coerce(c *tool.Case, offer *registry.Offer) (tool.JSON, *tool.Error) {
	if !offer.Spec.Lenient {
		return c.Args, nil
	}
	args, err := schema.Coerce(offer.Input, c.Args)
	if err != nil {
		return tool.JSON{}, tool.AsError(err)
	}
	return args, nil
}

// Fits says what a tool has against arguments, as the first gate would.
func (x *Executor) Fits(name string, args tool.JSON) *tool.Error {
	call := &tool.Call{Op: tool.OpTool, Name: name, Args: args}
	entry, release, ok := x.acquire(call)
	if !ok {
		return tool.Errorf(tool.AdapterUnavailable, "", "%s is not there now, so nobody can say whether they fit", name)
	}
	defer release()
	c := newCase(call, entry.Offer, x.Policy())
	coerced, err := coerce(c, entry.Offer)
	if err != nil {
		return err
	}
	if err := entry.Input.Validate(coerced); err != nil {
		return tool.AsError(err)
	}
	return nil
}

// validate is the first gate: the arguments against the tool's schema.
type validate struct{ offer *registry.Offer }

func (validate) Name() string { return gateValidate }

func (g validate) Judge(_ context.Context, c *tool.Case) (tool.Verdict, error) {
	if err := g.offer.Input.Validate(c.Args); err != nil {
		return tool.Refused("the arguments do not match the tool's input schema", tool.AsError(err)), nil
	}
	return tool.Passed("the arguments match the tool's input schema"), nil
}
