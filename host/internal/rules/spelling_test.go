// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// reads is what a policy says of reading a resource.
func reads(t testing.TB, p *rules.Rules, uri string) rules.Verb {
	t.Helper()
	spec := tool.Spec{Op: tool.OpResource, Name: tool.ResourceName(uri), Effects: tool.ReadOnly}
	verb, _ := verbOf(t, p, &tool.Case{Call: &tool.Call{Op: tool.OpResource}, Spec: &spec})
	return verb
}

func TestNoSpellingOfADeniedResourceSlipsPast(t *testing.T) {
	denied, err := rules.New([]rules.Rule{
		{Verb: rules.Deny, Names: []string{"resources:file:///docs/secret/**", "resources:file:///docs/né.txt", "resources:http://host/x"}, Line: 1},
	}, rules.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	allowed, err := rules.New([]rules.Rule{
		{Verb: rules.Allow, Names: []string{"resources:file:///docs/open/**"}, Line: 1}, {Verb: rules.Deny, Names: []string{"*"}, Line: 2},
	}, rules.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	for _, uri := range []string{
		"file:///docs/secret/a", "file:///docs/%73ecret/a", "file:///docs/%73%65cret%2Fa", "file:///docs/%2573ecret/a", "file:///docs/x/../secret/a",
		"file:///docs//secret/a", "file:///docs/./secret/a", "FILE:///docs/secret/a", "file:///docs/x%2F..%2Fsecret/a", "file:///docs/secret/%zz",
		"file:///docs/ｓecret/a", "file:///docs/%EF%BD%93ecret/a", "file:///docs/ne\u0301.txt", "file:///docs/n%C3%A9.txt", "file:///docs/n%65%CC%81.txt",
		"http://HOST/x", "http://ho%73t/x", "file:///docs/open/../secret/a",
	} {
		if got := reads(t, denied, uri); got != rules.Deny {
			t.Errorf("%s: %s", uri, got)
		}
		if got := reads(t, allowed, uri); got != rules.Deny {
			t.Errorf("%s is allowed as another: %s", uri, got)
		}
	}
	for _, uri := range []string{"file:///docs/open/a", "file:///docs/open/a%20b", "file:///docs/open/%C3%A9", "file:///docs/open/x/../y"} {
		if got := reads(t, allowed, uri); got != rules.Allow {
			t.Errorf("%s: %s", uri, got)
		}
		if got := reads(t, denied, uri); got != rules.Allow {
			t.Errorf("%s: %s", uri, got)
		}
	}
}

// misspelled draws another spelling of a path.
func misspelled(t *rapid.T, path string) string {
	var b strings.Builder
	for i := range len(path) {
		switch c := path[i]; rapid.IntRange(0, 5).Draw(t, "how") {
		case 0:
			b.WriteString("%" + strings.ToUpper(hex(c)))
		case 1:
			b.WriteString("%" + hex(c))
		case 2:
			if c == '/' {
				b.WriteString(rapid.SampledFrom([]string{"//", "/./", "/x/../", "/%2e/"}).Draw(t, "slash"))
				continue
			}
			fallthrough
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func hex(c byte) string { return string([]byte{"0123456789abcdef"[c>>4], "0123456789abcdef"[c&15]}) }

func TestADeniedPathIsDeniedHoweverItIsSpelled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		path := "/" + rapid.StringMatching(`[a-c]{1,3}(/[a-c]{1,3}){0,2}`).Draw(t, "path")
		p, err := rules.New([]rules.Rule{{Verb: rules.Deny, Names: []string{"resources:file://" + path}}}, rules.Defaults{})
		if err != nil {
			t.Fatal(err)
		}
		uri := "file://" + misspelled(t, path)
		spec := tool.Spec{Op: tool.OpResource, Name: tool.ResourceName(uri), Effects: tool.ReadOnly}
		v, err := p.Judge(t.Context(), &tool.Case{Call: &tool.Call{Op: tool.OpResource}, Spec: &spec})
		if err != nil || v.Decision != tool.Refuse || p.Visible(tool.Principal{}, &spec) {
			t.Fatalf("%s: %+v, %v", uri, v, err)
		}
	})
}

// FuzzMatches: a glob is refused, or matching a name with it comes to an end, and
// what is denied by it is denied in every spelling.
func FuzzMatches(f *testing.F) {
	for _, seed := range [][2]string{
		{"orders_*", "orders_query"},
		{"resources:file:///**/x", "resources:file:///a/%78"},
		{"{a,b}{c,d}", "ac"},
		{"[^a]?\\*", "bx*"},
		{strings.Repeat("{a,b}", 12), strings.Repeat("a", 12)},
		{strings.Repeat("**/", 30), strings.Repeat("a/", 60)},
		{strings.Repeat("*a", 60), strings.Repeat("a", 200)},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, name string) {
		if len(glob) > 256 || len(name) > 2048 || rules.CheckGlob(glob) != nil {
			return
		}
		matched := rules.Matches(glob, name)
		p, err := rules.New([]rules.Rule{{Verb: rules.Deny, Names: []string{glob}}}, rules.Defaults{})
		if err != nil {
			t.Fatal(err)
		}
		spec := tool.Spec{Name: name, Effects: tool.ReadOnly}
		if matched && p.Visible(tool.Principal{}, &spec) {
			t.Errorf("%q matches %q and does not deny it", glob, name)
		}
	})
}

func TestAGlobThatStandsForTooManyIsRefused(t *testing.T) {
	for glob, ok := range map[string]bool{
		strings.Repeat("{a,b}", 9): true, strings.Repeat("{a,b}", 10): false, "{" + strings.Repeat("a,", 500) + "b}": true, "{{a,b},{c,d}}": true,
	} {
		if err := rules.CheckGlob(glob); (err == nil) != ok {
			t.Errorf("%.40s: %v", glob, err)
		}
	}
}
