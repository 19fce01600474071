// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package approval decides whether somebody has to decide about a call, and
// says what an approval is.
package approval

import (
	"context"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Gate asks for an approval where the rules say that somebody has to decide.
type Gate struct {
	// Asks: somebody can be asked. Otherwise such a call is refused.
	Asks bool
}

// Name returns "approval".
func (Gate) Name() string { return "approval" }

// Judge passes what nobody has to decide about, and what was approved.
func (g Gate) Judge(_ context.Context, c *tool.Case) (tool.Verdict, error) {
	switch {
	case !c.Confirm:
		return tool.Passed("nobody has to decide"), nil
	case c.Approval != "":
		return tool.Passed("approved by " + c.ApprovedBy), nil
	case g.Asks:
		return tool.Verdict{Decision: tool.Ask, Reason: "somebody has to decide: " + c.Why}, nil
	default:
		return tool.Refused("approval mode is deny: "+c.Why, tool.Errorf(tool.ApprovalDenied, "approval_required",
			"%s was not run: it needs approval (its effects are %s), and this host approves nothing",
			c.Spec.Name, effects(c.Spec))), nil
	}
}

// effects names a tool's effects for people.
func effects(s *tool.Spec) string {
	if s.Effects == tool.EffectsUnset {
		return "not declared, so they count as destructive"
	}
	return string(s.Effects)
}
