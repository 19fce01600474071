// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package trial_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/face/control"
	"github.com/toolwharf/toolwharf/host/internal/tool"
	"github.com/toolwharf/toolwharf/host/internal/trial"
)

func TestCasesAreReadWithTheDigitsOfTheFile(t *testing.T) {
	got, faults := trial.Parse("f", []byte(`cases:
- tool: a
  expect: deny
- {name: n, tool: a, expect: allow, line: 3, principal: stdio/local/ada,
   arguments: {big: 9007199254740993, f: 0.10, s: "1", t: yes, n: null, b: true, l: [1, {x: -1e3}], "ö": ä}}
- {tool: a, expect: confirm, principal: {client_id: c, scopes: [r], claims: {level: 3}}}
`))
	if faults.Err() != nil {
		t.Fatal(faults)
	}
	want := []trial.Case{
		{File: "f", Line: 2, Tool: "a", Expect: "deny", Args: json.RawMessage(`{}`)},
		{
			File: "f", Line: 4, Name: "n", Tool: "a", Expect: "allow", Rule: 3, Principal: &control.Caller{Kind: "stdio", Subject: "ada"},
			Args: json.RawMessage(`{"big":9007199254740993,"f":0.10,"s":"1","t":"yes","n":null,"b":true,"l":[1,{"x":-1e3}],"ö":"ä"}`),
		},
		{
			File: "f", Line: 6, Tool: "a", Expect: "confirm", Args: json.RawMessage(`{}`),
			Principal: &control.Caller{Kind: "token", ClientID: "c", Scopes: []string{"r"}, Claims: json.RawMessage(`{"level":3}`)},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryFaultOfAFileOfCasesIsNamedWithItsLine(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		want []string
	}{
		"nothing":      {"", []string{"f: cases: must be a list of cases"}},
		"no YAML":      {"[", []string{"f: is no YAML"}},
		"another root": {"- a", []string{"f:1:1: must be a mapping"}},
		"no cases":     {"cases: []", []string{"f:1:8: cases: must be a list of cases"}},
		"another key":  {"case: []", []string{`f:1:1: has the unknown key "case"`}},
		"many faults": {
			"cases:\n- {tol: a, expect: maybe}\n- 3\n- {tool: a, expect: deny, line: -1, arguments: [1], principal: {kind: king}}\n",
			[]string{
				`f:2:4: cases[0]: has the unknown key "tol"`, "f:2:3: cases[0].tool: is missing", "f:2:3: cases[0].expect: must be one of",
				"f:3:3: cases[1]: must be a mapping", "f:4:33: cases[2].line: must be the line of a rule", "f:4:48: cases[2].arguments: must be an object",
				`f:4:64: cases[2].principal: has the kind "king"`,
			},
		},
		"an alias":            {"cases:\n- &a {tool: a, expect: deny, arguments: {x: &y [1]}}\n- {tool: a, expect: deny, arguments: {x: *y}}", []string{"cases[1].arguments: must be an object: has an alias"}},
		"a key twice":         {"cases:\n- {tool: a, tool: b, expect: deny}", []string{`has the key "tool" twice`}},
		"a number that isn't": {"cases:\n- {tool: a, expect: deny, arguments: {x: 0x1f}}", []string{`the number "0x1f" is written as JSON does not write it`}},
		"too many cases":      {"cases:\n" + strings.Repeat("- {}\n", 10_001), []string{"has more than 10000 cases"}},
	} {
		t.Run(name, func(t *testing.T) {
			cases, faults := trial.Parse("f", []byte(c.yaml))
			if faults.Err() == nil || cases != nil {
				t.Fatalf("%+v", cases)
			}
			for _, want := range c.want {
				if !strings.Contains(faults.Error(), want) {
					t.Errorf("%s is not said:\n%s", want, faults.Error())
				}
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("cases:\n- {tool: a, expect: deny, arguments: {x: [1, 2.5, .inf, ~]}, principal: anonymous}\n"))
	f.Add([]byte("cases: &a\n- *a\n"))
	f.Add([]byte("cases:\n- {tool: a, expect: allow, principal: '[\"a\",\"b\",\"c\"]'}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cases, faults := trial.Parse("f", data)
		if faults.Err() != nil {
			return
		}
		for _, c := range cases {
			if _, err := tool.ParseArgs(c.Args); err != nil || c.Tool == "" || c.Line == 0 {
				t.Errorf("%+v: %v", c, err)
			}
		}
	})
}
