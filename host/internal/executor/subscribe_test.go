// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"errors"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestWhatIsHiddenCannotBeSubscribedToAndLooksUnknown(t *testing.T) {
	f := newFixture(t, setting{})
	if _, err := f.Registry.Replace("notes", f.runner, []*registry.Offer{{
		Resource: &tool.Resource{URI: "note://1"},
		Spec:     tool.Spec{Op: tool.OpResource, Name: "resources:note://1", Adapter: "notes", Declared: "note://1", Effects: tool.ReadOnly},
	}}); err != nil {
		t.Fatal(err)
	}
	f.SetPolicy(&Policy{Visible: func(_ tool.Principal, s *tool.Spec) bool { return s.Adapter != "notes" }})
	call := callOf(t, `{}`)
	call.Op, call.Name = tool.OpResource, "note://1"
	err := f.Subscribe(t.Context(), call)
	if unknown, ok := errors.AsType[*UnknownError](err); !ok || *unknown != (UnknownError{tool.OpResource, "note://1"}) {
		t.Errorf("ended with %v", err)
	}
	if r := f.record(t); r.Op != ledger.OpSubscription || r.Outcome != ledger.Refused || r.Code != "hidden" {
		t.Errorf("recorded %+v", r.Row)
	}
}

func TestWhoMayReadMaySubscribeAndItIsRecorded(t *testing.T) {
	refuse := says("rules", tool.Refused("no", tool.Errorf(tool.Denied, "denied_by_rule", "no")), nil)
	for name, c := range map[string]struct {
		uri     string
		gate    Gate
		code    string
		outcome ledger.Outcome
	}{
		"allowed":        {"note://1", passes("rules"), "", ledger.OK},
		"denied":         {"note://1", refuse, "denied_by_rule", ledger.Refused},
		"asked about":    {"note://1", says("approval", tool.Verdict{Decision: tool.Ask}, nil), "approval_required", ledger.Refused},
		"a broken gate":  {"note://1", says("rules", tool.Verdict{}, errors.New("down")), "policy", ledger.Refused},
		"not there":      {"note://2", passes("rules"), "unknown", ""},
		"not a resource": {"orders_get", passes("rules"), "unknown", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, setting{gates: []Gate{c.gate}})
			input, err := schema.Compile([]byte(`{"type":"object"}`), schema.Input)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Registry.Replace("notes", f.runner, []*registry.Offer{{
				Resource: &tool.Resource{URI: "note://1"}, Input: input,
				Spec: tool.Spec{Op: tool.OpResource, Name: "resources:note://1", Adapter: "notes", Declared: "note://1", Effects: tool.ReadOnly},
			}}); err != nil {
				t.Fatal(err)
			}
			call := callOf(t, `{}`)
			call.Op, call.Name = tool.OpResource, c.uri
			err = f.Subscribe(t.Context(), call)
			_, unknown := errors.AsType[*UnknownError](err)
			switch {
			case c.code == "unknown":
				if !unknown {
					t.Errorf("ended with %v", err)
				}
				return
			case c.code == "" && err != nil, c.code != "" && (err == nil || tool.AsError(err).Code != c.code):
				t.Errorf("ended with %v", err)
			}
			if r := f.record(t); r.Op != ledger.OpSubscription || r.Outcome != c.outcome || r.Tool != "resources:note://1" {
				t.Errorf("recorded %+v", r.Row)
			}
			if len(f.runner.sent()) != 0 {
				t.Error("something was sent")
			}
		})
	}
}
