// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import "testing"

func TestRegexesMeanWhatECMA262Says(t *testing.T) {
	for _, tc := range []struct {
		source    string
		matches   []string
		otherwise []string
	}{
		{`a`, []string{"xay"}, []string{"b", ""}},
		{`^a$`, []string{"a"}, []string{"a\n", "xa"}},
		{`^\d+$`, []string{"42"}, []string{"٤٢"}},
		{`^\w$`, []string{"_"}, []string{"é"}},
		{`^\s$`, []string{" ", "\t", "\v", "\u00a0", "\ufeff", "\u2028", "\u3000"}, []string{"x", "\u200b"}},
		{`^\S$`, []string{"x", "\u200b"}, []string{" ", "\v", "\u00a0"}},
		{`^[\sx]$`, []string{"\u00a0", "x"}, []string{"y"}},
		{`^[^\s]$`, []string{"y"}, []string{"\u00a0"}},
		{`^[\s\S]$`, []string{"y", "\n", "\u00a0"}, []string{""}},
		{`^\u00e4$`, []string{"ä"}, []string{"u00e4"}},
		{`^[\u00e0-\u00ff]$`, []string{"ä"}, []string{"a"}},
		{`^\u{1F600}$`, []string{"😀"}, []string{"x"}},
		{`^\cJ$`, []string{"\n"}, []string{"J", "cJ"}},
		{`^\/\-$`, []string{"/-"}, nil},
		{`^\\u0041$`, []string{`\u0041`}, []string{"A", `\A`}},
		{`^\p{Lu}$`, []string{"Ä"}, []string{"ä"}},
		{`^(?<year>\d{4})$`, []string{"2026"}, []string{"26"}},
		{`^(?!a)`, []string{"b", ""}, []string{"a", "ab"}},
		{`^(?!a|b)\w+$`, []string{"c"}, []string{"a", "bc"}},
		{`^(?=.*\d)(?=.*[a-z]).{4,}$`, []string{"abc1"}, []string{"abcd", "1234", "a1"}},
		{`^(?!\()x`, []string{"x"}, []string{"(x"}},
		{`^(?![)(])x`, []string{"x"}, []string{")x"}},
		{`^(?!(a(b)))a`, []string{"ac"}, []string{"ab"}},
		{`^(?!a)(b|c)$`, []string{"b"}, []string{"a"}},
		{`^(?!x)[|]$`, []string{"|"}, []string{"x"}},
		// What zod has for e-mail addresses.
		{
			`^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$`,
			[]string{"a.b@example.com"},
			[]string{".a@example.com", "a..b@example.com", "a@example"},
		},
	} {
		re, err := compileRegex(tc.source)
		if err != nil {
			t.Errorf("%s: %v", tc.source, err)
			continue
		}
		if re.String() != tc.source {
			t.Errorf("%s became %s", tc.source, re)
		}
		for _, s := range tc.matches {
			if !re.MatchString(s) || !re.match([]byte(s)) {
				t.Errorf("%s does not match %q", tc.source, s)
			}
		}
		for _, s := range tc.otherwise {
			if re.MatchString(s) || re.match([]byte(s)) {
				t.Errorf("%s matches %q", tc.source, s)
			}
		}
	}
}

func TestRegexesThatCannotBeCheckedAreRefused(t *testing.T) {
	for _, source := range []string{
		`(`, `[`, `a{2,1}`, `*`, `(?<=a)b`, `(?<!a)b`, `a(?=b)`, `a(?!b)`, `(?=b)a`, `x^(?!a)`, `(a)\1`, `\k<a>`, `^(?=a`, `^(?!a)b|c`, `^(?=(a)`, `\u12`,
		`^(?!(?!a))b`, `a{1001}`,
	} {
		if _, err := compileRegex(source); err == nil {
			t.Errorf("%s is accepted", source)
		}
	}
}
