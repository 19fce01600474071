// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/auth"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestAnOperatorHoldsTheTokenOrTheScopeWhateverItIsCalled(t *testing.T) {
	known := &auth.Tokens{}
	for _, c := range []auth.Claims{
		{ClientID: "ops", Scopes: []string{"read", "toolwharf:operate"}},
		{ClientID: "agent", Scopes: []string{"toolwharf:operator", "toolwharf", "operate"}},
	} {
		if err := known.Add(digestOf("twh_"+c.ClientID), c); err != nil {
			t.Fatal(err)
		}
	}
	ann := tool.Principal{Kind: tool.Operator, Subject: "ann"}
	secret := strings.Repeat("s", 43)
	plain := auth.NewOperators(&auth.Door{Verifier: known, Anonymous: true}, ann, secret)
	for name, c := range map[string]struct {
		o      *auth.Operators
		url    string
		header []string
		want   string // principal, or the code of the refusal
	}{
		"the operator token":               {plain, "/", []string{"Bearer " + secret}, "operator/ann"},
		"the scope":                        {plain, "/", []string{"Bearer twh_ops"}, `["ops","",""]`},
		"the scope, under a name":          {auth.NewOperators(&auth.Door{Verifier: known, Names: names(t, "'x'")}, ann, secret), "/", []string{"Bearer twh_ops"}, "named/x"},
		"the scope, under a name it chose": {auth.NewOperators(&auth.Door{Verifier: known, Names: names(t, "headers['x-user']")}, ann, secret), "/", []string{"Bearer twh_ops"}, "not-operator"},
		"a name and no token":              {auth.NewOperators(&auth.Door{Names: names(t, "'x'"), Anonymous: true}, ann, secret), "/", nil, "unauthorized"},
		"a name and a token nobody sees":   {auth.NewOperators(&auth.Door{Names: names(t, "'x'")}, ann, secret), "/", []string{"Bearer twh_ops"}, "unauthorized"},
		"other scopes":                     {plain, "/", []string{"Bearer twh_agent"}, "not-operator"},
		"nothing, where anybody may ask":   {plain, "/", nil, "unauthorized"},
		"a token nobody knows":             {plain, "/", []string{"Bearer twh_x"}, "unauthorized"},
		"half of the operator token":       {plain, "/", []string{"Bearer " + secret[:42]}, "unauthorized"},
		"no door at all":                   {auth.NewOperators(nil, ann, secret), "/", []string{"Bearer twh_ops"}, "unauthorized"},
		"no door, the operator token":      {auth.NewOperators(nil, ann, secret), "/", []string{"bearer " + secret}, "operator/ann"},
		"as a password":                    {plain, "/", []string{"Basic " + secret}, "unauthorized"},
		"two of them":                      {plain, "/", []string{"Bearer " + secret, "Bearer " + secret}, "unauthorized"},
		"in the URL too":                   {plain, "/?access_token=x", []string{"Bearer " + secret}, "unauthorized"},
	} {
		r := httptest.NewRequest(http.MethodGet, c.url, nil)
		r.Header.Set("X-User", "x")
		for _, h := range c.header {
			r.Header.Add("Authorization", h)
		}
		who, refused := c.o.Identify(r)
		got := who.String()
		if refused != nil {
			got = refused.Code
			if strings.Contains(refused.Text+refused.Challenge, secret) || !who.IsAnonymous() {
				t.Errorf("%s: refused with %+v as %s", name, refused, who)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAFileWithoutATokenIsNoOperatorToken(t *testing.T) {
	for content, want := range map[string]string{
		strings.Repeat("a", 43) + "\n": strings.Repeat("a", 43),
		"":                             "",
		"\n":                           "",
		"secret\n":                     "",
		strings.Repeat("a", 20) + " " + strings.Repeat("a", 20): "",
		strings.Repeat("a", 17_000):                             "",
	} {
		if token, err := auth.ParseOperatorToken([]byte(content)); token != want || (err == nil) != (want != "") {
			t.Errorf("%.60q: %q, %v", content, token, err)
		}
	}
}
