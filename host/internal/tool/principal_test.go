// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestAPrincipalHasOneName(t *testing.T) {
	for _, tc := range []struct {
		principal tool.Principal
		want      string
	}{
		{tool.Principal{}, `anonymous`},
		{tool.Principal{Kind: tool.Stdio, Subject: "ada"}, `stdio/local/ada`},
		{tool.Principal{Kind: tool.Operator, Subject: "ada"}, `operator/ada`},
		{tool.Principal{Kind: tool.Named, Subject: "ada"}, `named/ada`},
		{tool.Principal{Kind: tool.Token, ClientID: "app", Issuer: "https://id.example.com", Subject: "ada"}, `["app","https://id.example.com","ada"]`},
		{tool.Principal{Kind: tool.Token}, `["","",""]`},
		{tool.Principal{Kind: tool.Token, ClientID: `a","b`, Subject: "c"}, `["a\",\"b","","c"]`},
		{tool.Principal{Kind: "other", Subject: "ada"}, `unknown/other`},
	} {
		if got := tc.principal.String(); got != tc.want {
			t.Errorf("got %s, want %s", got, tc.want)
		}
		if got := tc.principal.IsAnonymous(); got != (tc.want == "anonymous") {
			t.Errorf("%s: anonymous is %v", tc.want, got)
		}
	}
}

func TestNoPrincipalCanPassForAnother(t *testing.T) {
	// Every subject that looks like the name of somebody else, as every kind.
	tricks := []string{
		``, `anonymous`, `ada`, `stdio/local/ada`, `operator/ada`, `/ada`, `local/ada`, `["","","ada"]`, `ada","`, `","ada`, `\",\"`, `unknown/token`, "ada\x00", "\n",
	}
	names := map[string]tool.Principal{}
	add := func(p tool.Principal) {
		if other, taken := names[p.String()]; taken && !other.Is(p) {
			t.Errorf("%#v and %#v are both %s", p, other, p)
		}
		names[p.String()] = p
	}
	add(tool.Principal{})
	for _, a := range tricks {
		add(tool.Principal{Kind: tool.Stdio, Subject: a})
		add(tool.Principal{Kind: tool.Operator, Subject: a})
		add(tool.Principal{Kind: tool.Named, Subject: a})
		for _, b := range tricks {
			for _, c := range tricks {
				add(tool.Principal{Kind: tool.Token, ClientID: a, Issuer: b, Subject: c})
			}
		}
	}
}

// principal draws a principal whose parts have what the forms of other kinds
// are made of. The name of a local user has no NUL.
func principal(t *rapid.T) tool.Principal {
	part := rapid.StringOf(rapid.SampledFrom([]rune(`ab/",[]\é`)))
	switch kind := rapid.SampledFrom([]tool.PrincipalKind{tool.Anonymous, tool.Stdio, tool.Operator, tool.Named, tool.Token}).Draw(t, "kind"); kind {
	case tool.Anonymous:
		return tool.Principal{}
	case tool.Token:
		return tool.Principal{
			Kind: kind, ClientID: part.Draw(t, "client"), Issuer: part.Draw(t, "issuer"), Subject: rapid.String().Draw(t, "subject"),
		}
	default:
		return tool.Principal{Kind: kind, Subject: part.Draw(t, "subject")}
	}
}

func TestDifferentPrincipalsHaveDifferentNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, q := principal(t), principal(t)
		if got := p.String() == q.String(); got != p.Is(q) {
			t.Fatalf("%#v and %#v are %s and %s", p, q, p, q)
		}
	})
}

func TestARuleKnowsAPrincipalByItsPartsWhereTheyImitateNobody(t *testing.T) {
	for _, tc := range []struct {
		principal tool.Principal
		want      []string
	}{
		{tool.Principal{}, []string{"anonymous"}},
		{tool.Principal{Kind: tool.Stdio, Subject: "ada"}, []string{"stdio/local/ada"}},
		{tool.Principal{Kind: tool.Operator, Subject: "ada"}, []string{"operator/ada"}},
		{tool.Principal{Kind: tool.Named, Subject: "ada"}, []string{"named/ada", "ada"}},
		{tool.Principal{Kind: tool.Named, Subject: "stdio/local/ada"}, []string{"named/stdio/local/ada"}},
		{tool.Principal{Kind: tool.Token, ClientID: "desk", Subject: "a/b"}, []string{`["desk","","a/b"]`, "desk", "a/b"}},
		{tool.Principal{Kind: tool.Token, ClientID: "operator/root"}, []string{`["operator/root","",""]`}},
		{tool.Principal{Kind: tool.Token, ClientID: "anonymous", Subject: `["x"]`}, []string{`["anonymous","","[\"x\"]"]`}},
	} {
		if got := tc.principal.Names(); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.principal, got, tc.want)
		}
	}
}

func TestNoPrincipalIsKnownByTheFormOfAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := principal(t)
		parts := tool.Principal{Kind: rapid.SampledFrom([]tool.PrincipalKind{tool.Token, tool.Named}).Draw(t, "as"), Subject: p.String(), ClientID: p.String()}
		for _, name := range parts.Names() {
			if name == p.String() {
				t.Fatalf("%#v is known as %s", parts, name)
			}
		}
	})
}

func TestACallerIsTheSameWhateverItsTokenGrantsButRulesTellApartWhatItGrants(t *testing.T) {
	claims := func(raw string) tool.JSON {
		j, err := tool.ParseJSON([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	ada := tool.Principal{Kind: tool.Token, ClientID: "app", Issuer: "https://id.example.com", Subject: "ada"}
	standings := map[string]string{}
	for name, grant := range map[string]struct {
		scopes []string
		claims tool.JSON
	}{
		"nothing":              {},
		"a scope":              {scopes: []string{"read"}},
		"another":              {scopes: []string{"write"}},
		"both":                 {scopes: []string{"read", "write"}},
		"both in one":          {scopes: []string{"read write"}},
		"one that looks so":    {scopes: []string{`read","write`}},
		"a claim":              {claims: claims(`{"team":"a"}`)},
		"another claim":        {claims: claims(`{"team":"b"}`)},
		"a scope and a claim":  {scopes: []string{"read"}, claims: claims(`{"team":"a"}`)},
		"no claims in a token": {claims: claims(`{}`)},
	} {
		p := ada
		p.Scopes, p.Claims = grant.scopes, grant.claims
		if !p.Is(ada) || p.String() != ada.String() {
			t.Errorf("%s: it is another: %s", name, p)
		}
		if other, taken := standings[p.Standing()]; taken {
			t.Errorf("%s is like %s: %q", name, other, p.Standing())
		}
		standings[p.Standing()] = name
	}
	spelled := ada
	spelled.Claims = claims(`{ "team" : "\u0061" }`)
	if standings[spelled.Standing()] != "a claim" {
		t.Errorf("another spelling is another standing: %q", spelled.Standing())
	}
	if both := (tool.Principal{Scopes: []string{"read", "write"}}); !both.Has() || !both.Has("write") || !both.Has("write", "read") || both.Has("read", "admin") || both.Has("") {
		t.Error("what a token grants is not what it has")
	}
}
