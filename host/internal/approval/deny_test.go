// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestDenyRefusesWhateverNeedsApproval(t *testing.T) {
	yes, no := true, false
	const (
		readOnly    = "its effects are read_only"
		additive    = "its effects are additive"
		destructive = "its effects are destructive"
		undeclared  = "it does not declare its effects, so they count as destructive"
		confirms    = ", and it asks to be confirmed"
	)
	for _, tc := range []struct {
		effects tool.Effects
		confirm *bool
		// why it is refused; empty: it passes.
		why string
	}{
		{tool.ReadOnly, nil, ""},
		{tool.ReadOnly, &no, ""},
		{tool.ReadOnly, &yes, readOnly + confirms},
		{tool.Additive, nil, additive},
		{tool.Additive, &no, additive},
		{tool.Additive, &yes, additive + confirms},
		{tool.Destructive, nil, destructive},
		{tool.Destructive, &no, destructive},
		{tool.Destructive, &yes, destructive + confirms},
		{tool.EffectsUnset, nil, undeclared},
		{tool.EffectsUnset, &no, undeclared},
		{tool.EffectsUnset, &yes, undeclared + confirms},
	} {
		name := "effects " + string(tc.effects)
		if tc.confirm != nil {
			name += ", confirm said"
		}
		t.Run(name, func(t *testing.T) {
			c := &tool.Case{Spec: &tool.Spec{Name: "orders_delete", Effects: tc.effects, Confirm: tc.confirm}}
			v, err := approval.Deny{}.Judge(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if tc.why == "" {
				if v.Decision != tool.Pass || v.Err != nil || v.Reason == "" {
					t.Errorf("verdict %+v, want a pass and its reason", v)
				}
				return
			}
			if v.Decision != tool.Refuse || v.Err == nil {
				t.Fatalf("verdict %+v, want a refusal", v)
			}
			if v.Reason != "approval mode is deny and "+tc.why {
				t.Errorf("reason %q", v.Reason)
			}
			if v.Err.Kind != tool.ApprovalDenied || v.Err.Code != "approval_required" || v.Err.Sent {
				t.Errorf("error %+v", v.Err)
			}
			if !strings.Contains(v.Err.Text, "orders_delete was not run") || !strings.Contains(v.Err.Text, "("+tc.why+")") {
				t.Errorf("text %q", v.Err.Text)
			}
		})
	}
}

func TestDenyIsTheGateNamedApproval(t *testing.T) {
	if got := (approval.Deny{}).Name(); got != "approval" {
		t.Errorf("named %q", got)
	}
}
