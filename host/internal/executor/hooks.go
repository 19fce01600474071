// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// before asks the hooks in turn about a call, applying their edits to the case,
// until one refuses. It tells seen, if not nil, of each verdict.
func (x *Executor) before(ctx context.Context, c *tool.Case, p *Policy, seen func(gate string, v tool.Verdict)) (gate string, _ *tool.Error) {
	for _, h := range p.Hooks {
		v := ask(ctx, h, c)
		if v.Decision == tool.Ask { // that somebody decides is for rules to say
			v = tool.Refused("a hook cannot ask", tool.Errorf(tool.Denied, "hook_failed", "%s is not allowed now", c.Spec.Name))
		}
		if seen != nil {
			seen(h.Name(), v)
		}
		switch v.Decision {
		case tool.Edit:
			c.Args = v.Args
		case tool.Refuse:
			return h.Name(), x.said(h, v.Err)
		case tool.Pass, tool.Ask:
		}
	}
	return "", nil
}

// again asks the hooks about arguments that an operator has edited. What was
// approved runs or does not; it is not edited once more.
func (x *Executor) again(ctx context.Context, c *tool.Case, p *Policy) (gate string, _ *tool.Error) {
	approved := c.Args
	if gate, err := x.before(ctx, c, p, nil); err != nil {
		return gate, err
	}
	if c.Args.Digest() != approved.Digest() {
		c.Args = approved
		return gatePrior, tool.Errorf(tool.Denied, "hook_edits_approved",
			"%s was not run: a hook would change the arguments that were approved", c.Spec.Name)
	}
	return "", nil
}

// after asks the hooks in turn about a result, which they may edit in place. What
// they put into it is held against their own adapter's secrets too.
func (x *Executor) after(ctx context.Context, c *tool.Case, p *Policy, r *tool.Result) *tool.Error {
	for _, h := range p.Hooks {
		if err := h.Apply(ctx, c, r); err != nil {
			return x.said(h, tool.AsError(err))
		}
		if x.Redactor != nil {
			x.Redactor.Outcome(h.Origin(), r)
		}
	}
	return nil
}

// said is what a hook says of a call, without its adapter's secrets.
func (x *Executor) said(h Hook, err *tool.Error) *tool.Error {
	if x.Redactor == nil {
		return err
	}
	return x.Redactor.Error(h.Origin(), err)
}
