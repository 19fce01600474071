// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package approval decides whether somebody has to decide about a call.
package approval

import (
	"context"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Deny is approval mode "deny": what needs an approval is refused.
type Deny struct{}

// Name returns "approval".
func (Deny) Name() string { return "approval" }

// Judge refuses every call of a tool that needs approval.
func (Deny) Judge(_ context.Context, c *tool.Case) (tool.Verdict, error) {
	if !c.Spec.NeedsApproval() {
		return tool.Passed("the tool is read_only and does not ask to be confirmed"), nil
	}
	why := "its effects are " + string(c.Spec.Effects)
	if c.Spec.Effects == tool.EffectsUnset {
		why = "it does not declare its effects, so they count as destructive"
	}
	if c.Spec.Confirm != nil && *c.Spec.Confirm {
		why += ", and it asks to be confirmed"
	}
	return tool.Refused(
		"approval mode is deny and "+why,
		tool.Errorf(tool.ApprovalDenied, "approval_required",
			"%s was not run: it needs approval (%s), and this host approves nothing", c.Spec.Name, why),
	), nil
}
