// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"encoding/json"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestAToolIsCalledByClientsOnlyThatCanWhatItNeeds(t *testing.T) {
	for name, k := range map[string]struct {
		needs, has, protocol string
		may                  bool
	}{
		"it has it":                          {`{"sampling":{}}`, `{"sampling":{}}`, modern, true},
		"it has more":                        {`{"sampling":{}}`, `{"sampling":{"tools":{}},"roots":{}}`, modern, true},
		"it has nothing":                     {`{"sampling":{}}`, `{}`, modern, false},
		"it says nothing":                    {`{"sampling":{}}`, ``, modern, false},
		"it has something else":              {`{"sampling":{}}`, `{"roots":{}}`, modern, false},
		"it has one of two":                  {`{"sampling":{},"roots":{}}`, `{"roots":{}}`, modern, false},
		"it has it not":                      {`{"sampling":{}}`, `{"sampling":null}`, modern, false},
		"it says no":                         {`{"experimental":{"x":{}}}`, `{"experimental":{"x":false}}`, modern, false},
		"part of it is wanted":               {`{"sampling":{"tools":{}}}`, `{"sampling":{}}`, modern, false},
		"part of it is there":                {`{"sampling":{"tools":{}}}`, `{"sampling":{"tools":{}}}`, modern, true},
		"an extension":                       {`{"extensions":{"com.example/x":{}}}`, `{"extensions":{"com.example/x":{"v":1}}}`, modern, true},
		"an extension that is not there":     {`{"extensions":{"com.example/x":{}}}`, `{"extensions":{}}`, modern, false},
		"forms, which {} means":              {`{"elicitation":{"form":{}}}`, `{"elicitation":{}}`, modern, true},
		"elicitation of any kind":            {`{"elicitation":{}}`, `{"elicitation":{"form":{}}}`, modern, true},
		"forms of a client that has URLs":    {`{"elicitation":{"form":{}}}`, `{"elicitation":{"url":{}}}`, modern, false},
		"URLs of a client that has forms":    {`{"elicitation":{"url":{}}}`, `{"elicitation":{}}`, modern, false},
		"an older client, which cannot":      {`{"sampling":{}}`, `{"sampling":{}}`, "2025-11-25", false},
		"an older client with an extension":  {`{"experimental":{"x":{}}}`, `{"experimental":{"x":{}}}`, "2025-11-25", true},
		"capabilities that are no object":    {`{"sampling":{}}`, `[1]`, modern, false},
		"a client of which nothing is known": {`{"sampling":{}}`, ``, "", true},
		"a tool that needs nothing":          {``, ``, modern, true},
		"a tool that needs an empty object":  {`{}`, ``, modern, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, setting{effects: tool.ReadOnly, needs: k.needs, input: `{"type":"object","required":["n"]}`})
			c := callOf(t, `{"n":1}`)
			c.Client.Protocol, c.Client.Capabilities = k.protocol, json.RawMessage(k.has)
			_, err := f.Do(t.Context(), c)
			if (err == nil) != k.may {
				t.Fatalf("%v", err)
			}
			if k.may {
				return
			}
			if e := tool.AsError(err); string(e.Needs) != k.needs {
				t.Errorf("%v", err)
			}
			want := ending{ledger.Refused, "capable", tool.Denied, "missing_capability", "", 0}
			if got := endingOf(f.record(t).Row); got != want || len(f.runner.sent()) != 0 {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

func TestWhatAClientCannotCallIsSaidBeforeWhatIsWrongWithItsArguments(t *testing.T) {
	f := newFixture(t, setting{effects: tool.ReadOnly, needs: `{"roots":{}}`, input: `{"type":"object","required":["n"]}`})
	_, err := f.Do(t.Context(), callOf(t, `{}`))
	if e := tool.AsError(err); e.Code != "missing_capability" {
		t.Errorf("%v", err)
	}
}

func FuzzWhatAClientHasDeclared(f *testing.F) {
	f.Add(`{"sampling":{"tools":{}}}`, `{"sampling":{}}`)
	f.Add(`{"elicitation":{"form":{}}}`, `{"elicitation":{}}`)
	f.Add(`{"a":[1]}`, `{"a":{"b":null}}`)
	f.Fuzz(func(t *testing.T, needs, has string) {
		c := tool.Client{Protocol: modern, Capabilities: json.RawMessage(has)}
		if !covers(c, json.RawMessage(needs)) {
			return
		}
		// Who can more can the same.
		var declared map[string]json.RawMessage
		if json.Unmarshal(c.Capabilities, &declared) != nil {
			declared = map[string]json.RawMessage{}
		}
		if declared == nil { // null
			declared = map[string]json.RawMessage{}
		}
		declared["experimental of this test"] = json.RawMessage(`{}`)
		more, err := json.Marshal(declared)
		if err != nil {
			t.Fatal(err)
		}
		c.Capabilities = more
		if !covers(c, json.RawMessage(needs)) {
			t.Errorf("%s has %s, and not with one more", has, needs)
		}
	})
}
