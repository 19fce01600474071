// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// fatal is a test, also one of rapid.
type fatal interface {
	Helper()
	Fatal(args ...any)
}

func parsed(t fatal, raw string) tool.JSON {
	t.Helper()
	j, err := tool.ParseArgs([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// ada is a caller of whom everything is known.
func ada(t testing.TB) tool.Principal {
	return tool.Principal{
		Kind: tool.Token, ClientID: "desk", Issuer: "https://id.example", Subject: "ada", Scopes: []string{"read", "write"},
		Claims: parsed(t, `{"groups":["ops","dev"],"level":3}`),
	}
}

// pays is a call of a tool of which everything is known.
func pays(t testing.TB, args string) *tool.Case {
	return &tool.Case{
		Call: &tool.Call{Principal: ada(t)}, Args: parsed(t, args), RunID: "run_1", Started: time.Date(2026, 11, 30, 21, 0, 0, 0, time.UTC),
		Spec: &tool.Spec{Name: "shop_pay", Adapter: "shop", Declared: "pay", Effects: tool.Additive, Tags: []string{"money", "shop"}},
	}
}

// when is a policy that allows if a condition holds, and else denies.
func when(t testing.TB, condition string) *rules.Rules {
	t.Helper()
	p, err := rules.New([]rules.Rule{
		{Verb: rules.Allow, Names: []string{"*"}, When: condition, Line: 1},
		{Verb: rules.Deny, Names: []string{"*"}, Line: 2},
	}, rules.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAConditionSeesTheCall(t *testing.T) {
	for _, condition := range []string{
		`true`, `tool == "shop_pay" && tool.name == tool`, `tool.adapter == "shop"`, `tool.effects == "additive"`, `!tool.idempotent`,
		`"money" in tool.tags && size(tool.tags) == 2`,
		`args.amount == 12`, `args.amount < 12.5`, `args["amount"] > 0`, `args.price == 0.1`, `args.big == 9007199254740993`,
		`args.big != 9007199254740992`, `size(args.to) < 3.5`, `args.to.startsWith("a")`, `args.to.matches("^[a-z]+$")`, `args.lines.all(l, l.n > 0)`, `args.lines[0].n == 1`,
		`has(args.amount) && !has(args.absent)`, `args.?absent.orValue(3) == 3`, `args.nothing == null`, `args.half == 0.5`,
		`principal == "[\"desk\",\"https://id.example\",\"ada\"]"`, `principal.kind == "token"`, `principal.client_id == "desk"`,
		`principal.issuer == "https://id.example"`, `principal.subject == "ada"`, `"write" in principal.scopes`,
		`"ops" in principal.claims.groups && principal.claims.level >= 3`, `!has(principal.claims.email)`,
		`run == "run_1"`, `now == timestamp("2026-11-30T21:00:00Z")`, `now.getHours("Europe/Berlin") == 22`,
	} {
		c := pays(t, `{"amount":12.0,"price":0.1,"big":9007199254740993,"to":"ann","lines":[{"n":1},{"n":2}],"nothing":null,"half":5e-1}`)
		if verb, why := verbOf(t, when(t, condition), c); verb != rules.Allow || !strings.Contains(why, condition) {
			t.Errorf("%s: %s, %s", condition, verb, why)
		}
		if verb, why := verbOf(t, when(t, "!("+condition+")"), c); verb != rules.Deny || !strings.HasPrefix(why, "rule on line 2") {
			t.Errorf("not %s: %s, %s", condition, verb, why)
		}
	}
}

func TestACallerWithoutANameIsAnonymousInAConditionToo(t *testing.T) {
	c := pays(t, `{}`)
	c.Call = &tool.Call{}
	condition := `principal.kind == "anonymous" && principal == "anonymous" && principal.scopes == [] && !has(principal.claims.sub) && principal.subject == ""`
	if verb, why := verbOf(t, when(t, condition), c); verb != rules.Allow {
		t.Errorf("%s: %s", verb, why)
	}
}

func TestWhatCannotBeJudgedIsDenied(t *testing.T) {
	bomb := strings.Repeat("a", 1<<19)
	many := "[" + strings.Repeat("1,", 4000) + "1]"
	for name, c := range map[string]struct{ condition, args, why string }{
		"an argument that is not there":   {`args.absent == 1`, `{}`, "no such key: absent"},
		"a claim that is not there":       {`principal.claims.x == 1`, `{}`, "no such key: x"},
		"an argument of another type":     {`args.n < 5`, `{"n":"1"}`, "no such overload"},
		"no boolean":                      {`args.n`, `{"n":1}`, "not true or false"},
		"an index beyond the end":         {`args.l[3] == 1`, `{"l":[1]}`, "index out of bounds"},
		"a number that cannot be held":    {`args.n > 1`, `{"n":0.1000000000000000055}`, "cannot be held exactly"},
		"one of that kind anywhere":       {`args.n > 1`, `{"n":5,"m":[18446744073709551615]}`, "cannot be held exactly"},
		"a division by zero":              {`1 / args.n == 1`, `{"n":0}`, "division by zero"},
		"an overflow":                     {`args.n * args.n > 0`, `{"n":9223372036854775807}`, "overflow"},
		"a pattern that is none":          {`"a".matches(args.p)`, `{"p":"("}`, "no regular expression"},
		"a pattern that is too long":      {`"a".matches(args.p)`, `{"p":"` + strings.Repeat("a", 1025) + `"}`, "cost limit"},
		"a pattern of many states":        {`args.s.matches(args.p)`, `{"p":"(x{1000}|y{1000}|z{1000})*$","s":"` + bomb + `"}`, "cost limit"},
		"a literal of many states":        {`args.s.matches("(.*a{500}){2}$")`, `{"s":"` + bomb + `"}`, "cost limit"},
		"patterns one after the other":    {`args.l.map(x, args.s).all(s, s.matches("(a|b|c)*d?$"))`, `{"l":` + many + `,"s":"` + bomb[:1<<15] + `"}`, "cost limit"},
		"a text searched over and over":   {`args.l.map(x, args.s).exists(s, s.contains("b"))`, `{"l":` + many + `,"s":"` + bomb + `"}`, "cost limit"},
		"a list searched over and over":   {`args.l.all(x, x + 1 in args.l || x in args.l)`, `{"l":` + many + `}`, "cost limit"},
		"loops in loops":                  {`args.l.all(a, args.l.all(b, args.l.all(c, a + b + c > 0)))`, `{"l":` + many + `}`, "cost limit"},
		"a loop over what is large":       {`args.l.map(x, args.l).size() > 0 && args.l.exists(x, args.l == args.l && x > 2)`, `{"l":` + many + `}`, "cost limit"},
		"a text that doubles":             {`[args.s].map(a, a + a).map(b, b + b).map(c, c + c).map(d, d + d)[0] != ""`, `{"s":"` + bomb + `"}`, "cost limit"},
		"and it cannot be talked out of":  {`args.l.all(a, args.l.all(b, a + b > 0)) || true`, `{"l":` + many + `}`, "cost limit"},
		"nor can a number that is unheld": {`args.n > 1 || args.m == 1`, `{"n":5,"m":1e23}`, "cannot be held exactly"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []rules.Verb{rules.Allow, rules.Confirm, rules.Deny} {
				p, err := rules.New([]rules.Rule{{Verb: verb, Names: []string{"*"}, When: c.condition, Line: 7}}, rules.Defaults{Additive: rules.Allow})
				if err != nil {
					t.Fatal(err)
				}
				got, why := verbOf(t, p, pays(t, c.args))
				if got != rules.Deny || !strings.Contains(why, c.why) || !strings.Contains(why, "line 7") || len(why) > 4096 {
					t.Errorf("a rule that would %s: %s, %.500s", verb, got, why)
				}
			}
		})
	}
}

func TestAConditionThatIsNoneIsAFault(t *testing.T) {
	for condition, want := range map[string]string{
		`args.`:                            "is no CEL expression over tool, args, principal, run and now: character 6",
		`tool.nmae == "x"`:                 "is no CEL expression",
		`principal.scope == "x"`:           "is no CEL expression",
		`user == "x"`:                      "undeclared reference",
		`tool + 1 == 2`:                    "found no matching overload",
		`tool`:                             "must be true or false, gives string",
		`1`:                                "must be true or false, gives int",
		`tool.matches("(")`:                "invalid matches argument",
		strings.Repeat(" ", 4096) + "true": "more than 4096 bytes",
		strings.Repeat("(", 1000) + "true" + strings.Repeat(")", 1000): "is no CEL expression",
	} {
		if _, err := rules.NewWhen(condition); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", condition, err, want)
		}
		_, err := rules.New([]rules.Rule{{Verb: rules.Allow, Names: []string{"*"}, When: condition, Line: 7}}, rules.Defaults{})
		if condition != "" && (err == nil || !strings.Contains(err.Error(), "line 7: when ")) {
			t.Errorf("%.60s: %v", condition, err)
		}
	}
}

func TestAToolIsVisibleIfSomeCallOfItCouldRunOrWait(t *testing.T) {
	for condition, want := range map[string]bool{
		`args.n < 5`: true, `now.getHours() > 8`: true, `run == "x"`: true, `args.n < 5 && "write" in principal.scopes`: true,
		`args.n < 5 && "admin" in principal.scopes`: false, `"admin" in principal.scopes`: false, `"write" in principal.scopes`: true,
		`tool.effects == "additive"`: true, `tool.adapter != "shop"`: false,
		`args.n == 1 || true`: true, `args.n == 1 && false`: false,
		`principal.claims.absent == 1`: false, `has(principal.claims.absent)`: false,
		`principal.claims.absent == 1 || args.n == 1`: true,
	} {
		c := pays(t, `{}`)
		p := when(t, condition)
		if got := p.Visible(c.Principal, c.Spec); got != want {
			t.Errorf("%s: %v", condition, got)
		}
		if why, _ := p.Hides(c.Principal, c.Spec); (why == "") != want {
			t.Errorf("%s hides because of %q", condition, why)
		}
	}
	// One that denies hides only what it denies whatever the call.
	for condition, want := range map[string]bool{
		`args.n < 5`: true, `"write" in principal.scopes`: false, `"admin" in principal.scopes`: true, `args.n < 5 || true`: false,
	} {
		p, err := rules.New([]rules.Rule{{Verb: rules.Deny, Names: []string{"*"}, When: condition, Line: 1}}, rules.Defaults{})
		if err != nil {
			t.Fatal(err)
		}
		c := pays(t, `{}`)
		if got := p.Visible(c.Principal, c.Spec); got != want {
			t.Errorf("deny when %s: %v", condition, got)
		}
	}
}

func TestTheArgumentsThatAConditionNames(t *testing.T) {
	w, err := rules.NewWhen(`args.a == 1 && has(args.b) && args["c"] == 2 && args.?d.orValue(1) == 1 && args[?"e"].hasValue() && args.a.f == 3 && tool.name == ""`)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(w.Args()); got != "[a b c d e]" {
		t.Errorf("%s", got)
	}
}

// FuzzWhen: whatever a condition and arguments are, the one is refused, or judging
// the others comes to an end and to a verdict, the same for the same.
func FuzzWhen(f *testing.F) {
	for _, seed := range [][2]string{
		{`args.n < 5`, `{"n":1}`},
		{`args.s.matches(args.p)`, `{"s":"aaa","p":"(a*)*b"}`},
		{`args.l.all(x, x in args.l)`, `{"l":[1,"a",null]}`},
		{`principal.claims.groups.exists(g, g == args.g)`, `{"g":"ops"}`},
		{`timestamp(args.t) < now`, `{"t":"2026-01-01T00:00:00Z"}`},
		{`duration(args.d) > duration("1h") || args == {}`, `{"d":"2h"}`},
		{`args.?a[?0].orValue(1) == 1`, `{"a":[]}`},
	} {
		f.Add(seed[0], []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, condition string, raw []byte) {
		args, err := tool.ParseArgs(raw)
		if err != nil {
			return
		}
		p, err := rules.New([]rules.Rule{{Verb: rules.Allow, Names: []string{"*"}, When: condition, Line: 1}}, rules.Defaults{Additive: rules.Deny})
		if err != nil {
			return
		}
		c := pays(t, `{}`)
		c.Args = args
		once, _ := verbOf(t, p, c)
		canonical, err := tool.ParseArgs(args.Canonical())
		if err != nil {
			t.Fatal(err)
		}
		c.Args = canonical
		if again, why := verbOf(t, p, c); again != once {
			t.Errorf("%s, and in another spelling %s: %s", once, again, why)
		}
		if once == rules.Allow && !p.Visible(c.Principal, c.Spec) {
			t.Errorf("a call runs of what is hidden")
		}
	})
}
