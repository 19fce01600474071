// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// remarks is what is said of a condition about one tool.
func remarks(condition, input string) (texts []string) {
	known := rules.Known{Whole: true, Adapters: []string{"shop"}, Specs: []tool.Spec{{Name: "shop_pay", Adapter: "shop", Input: json.RawMessage(input)}}}
	for _, r := range rules.Review([]rules.Rule{{Verb: rules.Allow, Names: []string{"*"}, When: condition, Line: 1}}, known) {
		texts = append(texts, r.Text)
	}
	return texts
}

func TestAConditionThatDoesNotFitTheTypesOfAToolIsRemarkedUpon(t *testing.T) {
	const input = `{"type":"object","required":["s","n","p"],"additionalProperties":false,"properties":{
		"s":{"type":"string"},"n":{"type":"integer"},"p":{"type":"number"},"q":{"type":"number"},"b":{"type":"boolean"},"free":{},"either":{"type":["string","integer"]},
		"l":{"type":"array","items":{"type":"string"}},"o":{"$ref":"#/$defs/o"},"kind":{"enum":["a","b"],"type":"string"}},
		"$defs":{"o":{"type":"object","properties":{"s":{"type":"string"},"l":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}}}}}}}}`
	for condition, want := range map[string]string{
		`args.s < 5`:                             "args.s is a string in shop_pay; it is compared with a number: such a call is denied",
		`5 >= args["s"]`:                         "args.s is a string in shop_pay; it is compared with a number",
		`args.n < "5"`:                           "args.n is a number in shop_pay; it is compared with a string",
		`args.p * 1.19 < 100.0`:                  "args.p may be a whole number in shop_pay; * does not take it with a number with a fraction",
		`args.p < "5"`:                           "args.p is a number in shop_pay; it is compared with a string",
		`!(args.p < 1 && (args.p + 1 == 1))`:     "args.p may be a number with a fraction in shop_pay; + does not take it with a whole number",
		`args.p + args.q < 5`:                    "args.p may be a whole number in shop_pay; + does not take it with a number with a fraction",
		`args.n.startsWith("a")`:                 "args.n is a whole number in shop_pay; startsWith does not take it with a string",
		`args.s && true`:                         "args.s is a string in shop_pay; it has to be true or false",
		`args.s`:                                 "args.s is a string in shop_pay; it has to be true or false",
		`args.o.s > 1`:                           "args.o.s is a string",
		`args.s.x == 1`:                          "args.s is a string in shop_pay; it has no member x",
		`args.s.all(x, x == "a")`:                "args.s is a string in shop_pay; it is no list",
		`has(args.l) && args.l.exists(x, x < 5)`: "x is a string in shop_pay; it is compared with a number",
		`has(args.o) && args.o.l.all(i, i.n.size() > 0)`:     "size does not take it",
		`principal.client_id == "desk" && args.s < 5`:        "args.s is a string",
		`tool == "shop_pay" ? args.s < 5 : true`:             "args.s is a string",
		`args.kind != "b" || args.s < 5`:                     "args.s is a string",
		`now > timestamp("2026-01-01T00:00:00Z") && !args.s`: "args.s is a string",
		`args.?s.orValue("") < 5`:                            "shop_pay",
	} {
		if got := remarks(condition, input); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("%s: %q", condition, got)
		}
	}
	for _, condition := range []string{
		`args.s == 5`, `args.n == 1.5`, `args.n < 1.5`, `args.p < 5 && args.p > 0.5`, `args.n in ["a"]`, `args.s in ["a", 1]`, `has(args.b) && args.b`,
		`type(args.s) == int && args.s < 5`, `tool == "other" && args.s < 5`, `args.s < 5 || true`, `false && args.s < 5`, `args.free < 5`, `args.either < 5`,
		`has(args.o.x)`, `has(args.o) && args.o.x < 5`, `"s" in args && size(args) > 1`, `args.all(k, k != "")`, `args["s" + ""] == "x"`, `args.?b.orValue(true)`,
		`args == {}`, `true ? true : args.s < 5`, `double(args.p) * 1.19 < 100.0`, `[args.s, args.n].size() == 2`, `args.s.contains("a") && size(args.s) < 10`,
	} {
		if got := remarks(condition, input); len(got) != 0 {
			t.Errorf("%s: %q", condition, got)
		}
	}
}

func TestAToolThatLacksAnArgumentThatOthersHaveIsRemarkedUpon(t *testing.T) {
	closed := json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"q":{"type":"string"}}}`)
	pay := json.RawMessage(`{"type":"object","required":["amount"],"properties":{"amount":{"type":"integer"}}}`)
	known := rules.Known{Whole: true, Adapters: []string{"shop"}, Specs: []tool.Spec{
		{Name: "shop_pay", Adapter: "shop", Input: pay}, {Name: "shop_list", Adapter: "shop", Input: closed},
	}}
	rule := func(condition string) rules.Rule {
		return rules.Rule{Verb: rules.Confirm, Names: []string{"shop_*"}, When: condition, Line: 2}
	}
	first := rules.Rule{Verb: rules.Allow, Names: []string{"shop_list"}, Line: 1}
	got := rules.Review([]rules.Rule{rule("args.amount > 5")}, known)
	if len(got) != 1 || got[0].Text != "shop_list takes no amount, which when looks at: such a call is denied" {
		t.Errorf("%+v", got)
	}
	for name, list := range map[string][]rules.Rule{
		"it asks first":               {rule("has(args.amount) && args.amount > 5")},
		"a rule above decides of all": {first, rule("args.amount > 5")},
	} {
		if got := rules.Review(list, known); len(got) != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	first.Principals = []string{"ada"}
	if got := rules.Review([]rules.Rule{first, rule("args.amount > 5")}, known); len(got) != 1 {
		t.Errorf("a rule above that is for others: %+v", got)
	}
}

func TestWhatIsSaidOfTypesIsBounded(t *testing.T) {
	known := rules.Known{Whole: true, Adapters: []string{"shop"}}
	for i := range 100 {
		known.Specs = append(known.Specs, tool.Spec{
			Name: fmt.Sprintf("shop_%d", i), Adapter: "shop", Input: json.RawMessage(`{"type":"object","properties":{"s":{"type":"string"}}}`),
		})
	}
	if got := rules.Review([]rules.Rule{{Verb: rules.Deny, Names: []string{"*"}, When: "args.s < 5"}}, known); len(got) != 5 {
		t.Errorf("%d remarks", len(got))
	}
	deep := strings.Repeat(`{"type":"object","properties":{"s":`, 20) + `{"type":"string"}` + strings.Repeat(`}}`, 20)
	if got := remarks("args"+strings.Repeat(".s", 20)+" < 5", deep); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// typed is a schema in which every type is said.
type typed struct {
	kind  string
	items *typed
	props map[string]*typed
}

var typedNames = []string{"a", "b"}

func drawTyped(t *rapid.T, depth int) *typed {
	kinds := []string{"string", "integer", "number", "boolean", "array", "object"}
	if depth == 0 {
		kinds = kinds[:4]
	}
	d := &typed{kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
	switch d.kind {
	case "array":
		d.items = drawTyped(t, depth-1)
	case "object":
		d.members(t, depth-1)
	}
	return d
}

func (d *typed) members(t *rapid.T, depth int) {
	d.props = map[string]*typed{}
	for _, name := range typedNames {
		d.props[name] = drawTyped(t, depth)
	}
}

func (d *typed) schema() string {
	switch d.kind {
	case "array":
		return `{"type":"array","items":` + d.items.schema() + `}`
	case "object":
		var props []string
		for _, name := range typedNames {
			props = append(props, fmt.Sprintf("%q:%s", name, d.props[name].schema()))
		}
		return `{"type":"object","additionalProperties":false,"required":["a"],"properties":{` + strings.Join(props, ",") + `}}`
	}
	return `{"type":"` + d.kind + `"}`
}

// values are all of a small world.
func (d *typed) values() (out []string) {
	switch d.kind {
	case "string":
		return []string{`"a"`, `""`, `"xyz"`, `"ax"`}
	case "integer":
		return []string{"1", "0", "2.0", "-3", "9007199254740993"}
	case "number":
		return []string{"1", "0.5", "1.5", "2.5", "2.0", "-1.25", "0", "-3"}
	case "boolean":
		return []string{"true", "false"}
	case "array":
		items := d.items.values()
		for _, v := range items {
			out = append(out, "["+v+"]", "["+v+","+items[0]+"]")
		}
		return append(out[:min(len(out), 10)], "[]")
	}
	for _, a := range d.props["a"].values() {
		out = append(out, `{"a":`+a+`}`)
		for _, b := range d.props["b"].values() {
			out = append(out, `{"a":`+a+`,"b":`+b+`}`)
		}
	}
	return out
}

// drawCondition draws a condition that may or may not fit.
func drawCondition(t *rapid.T, depth int) string {
	pick := func(from ...string) string { return rapid.SampledFrom(from).Draw(t, "part") }
	path := pick("args.a", "args.b", `args["a"]`, "args.a.a", "args.b.a", "args.a.b", "args.?a.orValue(args.a)")
	literal := pick("1", "1.5", `"a"`, "true", "args.a", "args.b", "[]")
	if depth > 0 {
		switch sub := func() string { return drawCondition(t, depth-1) }; pick("and", "or", "not", "choose", "atom", "atom") {
		case "and":
			return "(" + sub() + " && " + sub() + ")"
		case "or":
			return "(" + sub() + " || " + sub() + ")"
		case "not":
			return "!" + sub()
		case "choose":
			return "(" + sub() + " ? " + sub() + " : " + sub() + ")"
		}
	}
	return pick(
		path+" < "+literal, path+" >= "+literal, path+" == "+literal, "("+path+" + "+literal+" == "+literal+")", "("+path+" * 2.5 > 1)", path+" in ["+literal+"]",
		path+`.startsWith("a")`, "size("+path+") > 1", "has(args.b)", "has(args.a.b)", path+".all(x, x < "+literal+")", path+".exists(x, x == "+literal+")",
		"("+path+")", `type(args.a) == string`, `principal.client_id == "desk"`, `tool == "shop_pay"`,
	)
}

// What is said of types is true, and what is not said does not happen: whatever is
// remarked upon, some good call is denied for it; where nothing is, no good call is
// denied for the types of its arguments.
func TestWhatIsSaidOfTypesIsWhatHappens(t *testing.T) {
	said, unsaid := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		root := &typed{kind: "object"}
		root.members(t, 2)
		condition := drawCondition(t, 2)
		w, err := rules.NewWhen(condition)
		if err != nil {
			t.Skip(err)
		}
		input := root.schema()
		texts := remarks(condition, input)
		s, err := schema.Compile(json.RawMessage(input), schema.Input)
		if err != nil {
			t.Fatal(err)
		}
		faults := ""
		for _, raw := range root.values() {
			args := parsed(t, raw)
			if err := s.Validate(args); err != nil {
				t.Fatal(err)
			}
			for _, client := range []string{"desk", "other"} {
				c := &tool.Case{
					Call: &tool.Call{Principal: tool.Principal{Kind: tool.Token, ClientID: client}}, Args: args,
					Spec: &tool.Spec{Name: "shop_pay", Adapter: "shop"},
				}
				if _, err := w.Holds(c); err != nil {
					faults += string(args.Bytes()) + ": " + err.Error() + "\n"
				}
			}
		}
		typeFault := strings.Contains(faults, "no such overload") || strings.Contains(faults, "iterable") || strings.Contains(faults, "not true or false")
		switch {
		case len(texts) > 0 && faults == "":
			t.Fatalf("%s of %s: it is said that %q, and every call could be judged", condition, input, texts)
		case len(texts) == 0 && typeFault:
			t.Fatalf("%s of %s: nothing is said, but\n%s", condition, input, faults)
		case len(texts) > 0:
			said++
		default:
			unsaid++
		}
	})
	if said == 0 || unsaid == 0 {
		t.Errorf("%d were remarked upon, %d were not", said, unsaid)
	}
}

// A schema is the plugin's word, and a condition is held against it before anybody has
// accepted the plugin.
func FuzzRemarks(f *testing.F) {
	for _, input := range []string{
		`{}`, `null`, `[]`, `7`, ``, `{"type":"object"}`, `{"type":["object","null"],"properties":null}`,
		`{"type":"object","properties":{"s":{"type":"string","enum":["a",1]},"n":{"type":"integer","minimum":1e400}},"required":["s"]}`,
		`{"type":"object","properties":{"s":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/x"}}}`,
		`{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"s":{"anyOf":[{"type":"string"},true]}}},"minItems":1000000000}}}`,
	} {
		f.Add("args.s < 5 && args.n > 1", input)
		f.Add("has(args.l) && args.l.exists(x, x.s > 2)", input)
	}
	f.Fuzz(func(t *testing.T, condition, input string) {
		if len(condition) > 200 || len(input) > 64<<10 { // the bounds of both are others' (FuzzWhen, package schema)
			return
		}
		said := remarks(condition, input)
		if len(said) > 5 {
			t.Errorf("%d remarks", len(said))
		}
		for _, text := range said {
			if len(text) > 4<<10 || strings.ContainsAny(text, "\n\x00") {
				t.Errorf("%q", text)
			}
		}
	})
}
