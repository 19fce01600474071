// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"net/url"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/approval"
)

func TestADecisionSaysWhatIsMeantOrIsNone(t *testing.T) {
	for body, want := range map[string]*approval.Decision{
		`{"approve":true}`:                                             {Approve: true},
		`{"approve":false,"reason":"no"}`:                              {Reason: "no"},
		` {"reason":"","approve":true} `:                               {Approve: true},
		`{"approve":true,"reason":null}`:                               {Approve: true},
		`{"approve":true,"edited_arguments":{"n":9007199254740993.0}}`: {Approve: true, Edited: []byte(`{"n":9007199254740993.0}`)},
		`{"approve":true,"edited_arguments":null}`:                     {Approve: true},
		``:                                  nil,
		`{}`:                                nil,
		`null`:                              nil,
		`[]`:                                nil,
		`{"approve":null}`:                  nil,
		`{"approve":"true"}`:                nil,
		`{"approve":1}`:                     nil,
		`{"Approve":true}`:                  nil,
		`{"approve":false,"Approve":true}`:  nil,
		`{"approve":false,"approve":true}`:  nil,
		`{"approve":true,"args":{}}`:        nil,
		`{"approve":true,"reason":1}`:       nil,
		`{"approve":true} {"approve":true}`: nil,
	} {
		d, err := readDecision([]byte(body))
		switch {
		case (err == nil) != (want != nil):
			t.Errorf("%s: %+v, %v", body, d, err)
		case want != nil && (d.Approve != want.Approve || d.Reason != want.Reason || string(d.Edited) != string(want.Edited)):
			t.Errorf("%s: %+v", body, d)
		}
	}
}

func FuzzDecision(f *testing.F) {
	f.Add(`{"approve":true,"edited_arguments":{"a":1},"reason":"x"}`)
	f.Fuzz(func(t *testing.T, body string) {
		if d, err := readDecision([]byte(body)); err != nil && (d.Approve || d.Edited != nil) {
			t.Errorf("refused, and read as %+v", d)
		}
	})
}

func TestAListAskedForInAnotherWayIsRefused(t *testing.T) {
	const id = "apr_AAAAAAAAAAAAAAAAAAAAAAAAAA"
	for raw, want := range map[string]*approval.Query{
		"":                                {Newest: true},
		"status=pending&tool=x&limit=200": {Newest: true, Status: approval.Pending, Tool: "x"},
		"adapter=a&principal=%5B%22b%22%5D&run=r&cursor=" + id: {Newest: true, Adapter: "a", Principal: `["b"]`, Run: "r", Past: id},
		"status=open":                nil,
		"status=pending&status=used": nil,
		"limit=0":                    nil,
		"limit=201":                  nil,
		"limit=many":                 nil,
		"cursor=1":                   nil,
		"state=pending":              nil,
		"status=%zz":                 nil,
	} {
		q, limit, failed := query(&url.URL{RawQuery: raw})
		switch {
		case (failed == nil) != (want != nil):
			t.Errorf("%s: %+v, %+v", raw, q, failed)
		case want != nil && (q != *want || limit < 1 || limit > maxPage):
			t.Errorf("%s: %+v, %d", raw, q, limit)
		}
	}
}
