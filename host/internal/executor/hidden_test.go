// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestACallOfAHiddenToolIsAnsweredAsIfThereWereNoneAndRecorded(t *testing.T) {
	f := newFixture(t, setting{effects: tool.Destructive, input: `{"type":"object","required":["id"]}`})
	f.SetPolicy(&Policy{Visible: func(p tool.Principal, s *tool.Spec) bool { return !p.Is(caller) || s.Name != "orders_get" }})
	for name, call := range map[string]func(*tool.Call) error{
		"a good call":                func(c *tool.Call) error { return doing(f, c) },
		"by its alias":               func(c *tool.Call) error { c.Name = "orders.get"; return doing(f, c) },
		"arguments that do not fit":  func(c *tool.Call) error { c.Args = parsed(t, `{}`); return doing(f, c) },
		"arguments that are no JSON": func(c *tool.Call) error { return f.Reject(t.Context(), c, tool.Errorf(tool.ArgsInvalid, "x", "x")) },
		"a state":                    func(c *tool.Call) error { c.State = []byte("v1.x"); return doing(f, c) },
		"a key":                      func(c *tool.Call) error { c.Key = "k"; return doing(f, c) },
	} {
		t.Run(name, func(t *testing.T) {
			c := callOf(t, `{"id":1}`)
			err := call(c)
			var unknown *UnknownError
			if !errors.As(err, &unknown) || unknown.Name != c.Name {
				t.Errorf("answer is %v", err)
			}
			intents, records := f.journal.taken()
			if len(intents) != 0 || len(f.runner.sent()) != 0 {
				t.Error("it was sent")
			}
			if len(records) != 1 || records[0].Outcome != ledger.Refused || records[0].Kind != tool.Denied ||
				records[0].Code != "hidden" || records[0].Tool != "orders_get" || records[0].Principal != caller.String() {
				t.Errorf("recorded %+v", records)
			}
		})
	}
	other := callOf(t, `{"id":1}`)
	other.Principal = tool.Principal{Kind: tool.Stdio, Subject: "bob"}
	if err := doing(f, other); err != nil {
		t.Errorf("who may see it: %v", err)
	}
}

func doing(f *fixture, c *tool.Call) error {
	_, err := f.Do(context.Background(), c)
	return err
}

func TestAnAdapterIsHandedScopedIdsAndNoKeyOfTheClients(t *testing.T) {
	f := newFixture(t, setting{effects: tool.ReadOnly})
	c := callOf(t, `{}`)
	c.Run, c.Key = "raw-run", "raw-key"
	c.Answers = map[string]json.RawMessage{"raw-answer": json.RawMessage(`1`)}
	if err := doing(f, c); err != nil {
		t.Fatal(err)
	}
	a := f.runner.sent()[0]
	raw, err := json.Marshal([]any{a.ID, a.RunID, a.Run, a.Key, a.Call.Answers, string(a.Call.State)})
	if err != nil || strings.Contains(string(raw), "raw-") {
		t.Errorf("the adapter sees %s %v", raw, err)
	}
	if a.RunID != tool.ScopedID(tool.PrefixRun, caller, "raw-run") || !tool.IsID(tool.PrefixCall, a.ID) {
		t.Errorf("its ids are %s %s", a.RunID, a.ID)
	}
	if c.Run != "raw-run" {
		t.Error("the call has changed")
	}
}
