// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestAnotherPolicyHoldsFromTheNextCallOnAndNotForOneThatHasBegun(t *testing.T) {
	judging, goOn := make(chan struct{}), make(chan struct{})
	slow := gate{"slow", func(*tool.Case) (tool.Verdict, error) {
		close(judging)
		<-goOn
		return tool.Passed("after a while"), nil
	}}
	f := newFixture(t, setting{gates: []Gate{slow, passes("old")}})
	ended := make(chan error, 1)
	go func() {
		_, err := f.Do(t.Context(), callOf(t, `{}`))
		ended <- err
	}()
	<-judging
	f.SetPolicy(&Policy{Gates: []Gate{
		says("new", tool.Refused("a rule", tool.Errorf(tool.Denied, "denied_by_rule", "no")), nil),
	}})
	if _, err := f.Do(t.Context(), callOf(t, `{}`)); err == nil {
		t.Error("the next call was not judged by the new policy")
	}
	if r := f.record(t); r.Outcome != ledger.Refused || r.Gate != "new" {
		t.Errorf("the next call: %+v", endingOf(r.Row))
	}
	e, err := f.Explain(t.Context(), callOf(t, `{}`))
	if err != nil || e.Gate != "new" {
		t.Errorf("explained by %+v, %v", e, err)
	}
	close(goOn)
	if err := <-ended; err != nil {
		t.Errorf("the call that had begun: %v", err)
	}
	if r := f.record(t); r.Outcome != ledger.OK {
		t.Errorf("the call that had begun: %+v", endingOf(r.Row))
	}
}
