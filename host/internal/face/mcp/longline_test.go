// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func idOf(line []byte) string {
	var l longLine
	_, _ = l.Write(line)
	return string(l.requestID())
}

func TestTheIDOfALongRequestIsFoundWhereverItStands(t *testing.T) {
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":8,"x":[{"id":9}]}}`:  `7`,
		`{"method":"tools/call","params":{"a":"\"id\":9,","id":8},"jsonrpc":"2.0","id":7}`: `7`,
		"{ \"id\" : \"a\\\"b, c\" , \"method\":\"x\" }\n":                                  `"a\"b, c"`,
		`{"method":"x","id":-1.5e3}`:                                                       `-1.5e3`,
		`{"method":"x"}`:                                                                   ``,
		`{"method":"x","id":null}`:                                                         ``,
		`{"method":"x","id":{"id":1}}`:                                                     ``,
		`{"method":"x","id":[1]}`:                                                          ``,
		`{"id":7,"result":{"method":"x"}}`:                                                 ``, // an answer: its id is the host's own
		`[{"method":"x","id":7}]`:                                                          ``,
		`{"method":"x","id":"` + strings.Repeat("i", maxID) + `"}`:                         ``,
		`{"method":"x","id":7,"` + strings.Repeat("k", 2*maxID) + `":1}`:                   `7`,
		`{"method":"x","id":7`:                                                             ``, // it broke off
		`}}},"id":7,"method":"x"`:                                                          ``,
		``:                                                                                 ``,
	} {
		if got := idOf([]byte(line)); got != want {
			t.Errorf("%.80s: %q, want %q", line, got, want)
		}
	}
}

func FuzzLongLine(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":8}}`))
	f.Add([]byte(`{"method":"x","params":["\\\"",{"id":1}],"id":"a"}`))
	f.Add([]byte(`}{,:"`))
	f.Fuzz(func(t *testing.T, line []byte) {
		got := idOf(line)
		if got != "" && (!json.Valid([]byte(got)) || len(got) > maxID) {
			t.Fatalf("%q is no id", got)
		}
		d := json.NewDecoder(bytes.NewReader(line))
		if open, err := d.Token(); err != nil || open != json.Delim('{') || !json.Valid(line) {
			return
		}
		want, method := "", false
		for d.More() {
			begin := d.InputOffset()
			key, err := d.Token()
			if err != nil {
				t.Fatal(err)
			}
			plain := bytes.HasSuffix(line[begin:d.InputOffset()], []byte(`"id"`)) || bytes.HasSuffix(line[begin:d.InputOffset()], []byte(`"method"`))
			var value json.RawMessage
			if err := d.Decode(&value); err != nil {
				t.Fatal(err)
			}
			switch {
			case key == "method" && plain:
				method = true
			case key == "id" && plain:
				if want = string(value); len(want) > maxID || !strings.ContainsAny(want[:1], `"-0123456789`) {
					want = ""
				}
			}
		}
		if !method {
			want = ""
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
