// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestTheGateAsksOnlyWhereSomebodyHasToDecideAndNobodyHas(t *testing.T) {
	for name, tc := range map[string]struct {
		gate     approval.Gate
		c        tool.Case
		decision tool.Decision
		text     string
	}{
		"nobody has to decide":               {approval.Gate{}, tool.Case{}, tool.Pass, ""},
		"nobody has to decide, though asked": {approval.Gate{Asks: true}, tool.Case{}, tool.Pass, ""},
		"it was approved":                    {approval.Gate{Asks: true}, tool.Case{Confirm: true, Approval: "apr_x", ApprovedBy: "operator/ann"}, tool.Pass, ""},
		"somebody can be asked":              {approval.Gate{Asks: true}, tool.Case{Confirm: true, Why: "a rule"}, tool.Ask, ""},
		"nobody can be asked":                {approval.Gate{}, tool.Case{Confirm: true, Why: "a rule"}, tool.Refuse, "its effects are additive"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.c.Spec = &tool.Spec{Name: "orders_add", Effects: tool.Additive}
			v, err := tc.gate.Judge(t.Context(), &tc.c)
			if err != nil || v.Decision != tc.decision || v.Reason == "" {
				t.Fatalf("verdict %+v, %v", v, err)
			}
			if tc.decision != tool.Refuse {
				return
			}
			if v.Err.Kind != tool.ApprovalDenied || v.Err.Code != "approval_required" || !strings.Contains(v.Err.Text, tc.text) {
				t.Errorf("error %+v", v.Err)
			}
		})
	}
	if got := (approval.Gate{}).Name(); got != "approval" {
		t.Errorf("named %q", got)
	}
}

func TestARefusalSaysThatUndeclaredEffectsCountAsDestructive(t *testing.T) {
	v, err := approval.Gate{}.Judge(t.Context(), &tool.Case{Confirm: true, Spec: &tool.Spec{Name: "x"}})
	if err != nil || !strings.Contains(v.Err.Text, "not declared, so they count as destructive") {
		t.Errorf("%+v, %v", v.Err, err)
	}
}
