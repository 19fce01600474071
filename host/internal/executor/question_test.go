// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

func TestAUserIsSentOnlyToWhatCanBeJudgedByReadingIt(t *testing.T) {
	for text, fine := range map[string]bool{
		"https://example.com":                              true,
		"https://example.com:8443/a?b=c#d":                 true,
		"https://xn--bcher-kva.example/":                   true,
		"https://[2001:db8::1]/":                           true,
		"http://localhost:3000/callback":                   true,
		"http://127.0.0.1:3000":                            true,
		"http://[::1]:3000":                                true,
		"HTTPS://example.com":                              true,
		"http://example.com":                               false,
		"http://127.0.0.1.example.com":                     false,
		"http://localhost.example.com":                     false,
		"https://example.com@evil.example/":                false,
		"https://example.com:443@evil.example/":            false,
		"https://":                                         false,
		"https:///path":                                    false,
		"https:example.com":                                false,
		"//example.com":                                    false,
		"example.com":                                      false,
		"":                                                 false,
		"javascript:alert(1)":                              false,
		"data:text/html,x":                                 false,
		"file:///etc/passwd":                               false,
		"vscode://extension":                               false,
		"https://b\u00fccher.example/":                     false,
		"https://example.com/\u202emoc.live":               false,
		"https://example.com/a b":                          false,
		"https://example.com/\n":                           false,
		"https:\\\\example.com":                            false,
		"https://example.com\\@evil.example":               false,
		"https://example.com/%zz":                          false,
		"https://example.com/" + strings.Repeat("a", 2028): true,
		"https://example.com/" + strings.Repeat("a", 2029): false,
	} {
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := fitURL(raw); (err == nil) != fine {
			t.Errorf("%.80q: %v", text, err)
		}
	}
	for _, raw := range []string{``, `null`, `7`, `["https://example.com"]`, `{}`} {
		if err := fitURL(json.RawMessage(raw)); err == nil {
			t.Errorf("%s passes for a URL", raw)
		}
	}
}

func FuzzFitURL(f *testing.F) {
	for _, s := range []string{"https://example.com/a?b#c", "http://localhost", "https://a@b", "https:\\\\a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw, _ := json.Marshal(text)
		if fitURL(raw) != nil {
			return
		}
		u, err := url.Parse(text)
		if err != nil || u.User != nil || u.Host == "" || strings.ContainsAny(text, " \\\t\r\n") {
			t.Errorf("%q passes", text)
		}
		if u.Scheme != "https" && !local(u.Hostname()) {
			t.Errorf("%q passes without being https", text)
		}
	})
}
