// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/auth"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

var (
	desk = auth.Claims{ClientID: "desk", Subject: "ada", Scopes: []string{"write", "read", "write"}, Rest: said(`{"team":"north","level":3,"share":0.1}`)}
	shop = auth.Claims{ClientID: "shop", Rest: said(`{"level":9007199254740993.5}`)}
)

// said is what a token says.
func said(raw string) tool.JSON {
	j, err := tool.ParseJSON([]byte(raw))
	if err != nil {
		panic(err)
	}
	return j
}

func digestOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func tokens(t *testing.T) *auth.Tokens {
	t.Helper()
	known := &auth.Tokens{}
	for token, c := range map[string]auth.Claims{"twh_desk": desk, "twh_shop": shop} {
		if err := known.Add(digestOf(token), c); err != nil {
			t.Fatal(err)
		}
	}
	return known
}

func names(t *testing.T, expression string) *auth.Names {
	t.Helper()
	n, err := auth.NewNames(expression)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestARequestIsFromTheBearerOfItsTokenOrRefused(t *testing.T) {
	must := &auth.Door{Verifier: tokens(t)}
	may := &auth.Door{Verifier: tokens(t), Anonymous: true}
	none := &auth.Door{}
	for name, c := range map[string]struct {
		door   *auth.Door
		header []string // of Authorization
		query  string
		want   string // the principal, or the challenge of a refusal
	}{
		"a token":                          {must, []string{"Bearer twh_desk"}, "", `["desk","","ada"]`},
		"another":                          {must, []string{"Bearer twh_shop"}, "", `["shop","",""]`},
		"a scheme in lower case":           {must, []string{"bearer twh_desk"}, "", `["desk","","ada"]`},
		"a token where none is needed":     {may, []string{"Bearer twh_desk"}, "", `["desk","","ada"]`},
		"none where none is needed":        {may, nil, "", "anonymous"},
		"none":                             {must, nil, "", `Bearer realm="toolwharf"`},
		"a wrong one":                      {must, []string{"Bearer twh_desk2"}, "", "invalid_token"},
		"a wrong one where none is needed": {may, []string{"Bearer x"}, "", "invalid_token"},
		"its digest":                       {must, []string{"Bearer " + digestOf("twh_desk")}, "", "invalid_token"},
		"nothing":                          {may, []string{""}, "", "invalid_token"},
		"the scheme alone":                 {may, []string{"Bearer"}, "", "invalid_token"},
		"a password":                       {may, []string{"Basic dHdoX2Rlc2s6"}, "", "invalid_token"},
		"two tokens":                       {may, []string{"Bearer twh_desk", "Bearer twh_shop"}, "", "invalid_token"},
		"two in one":                       {may, []string{"Bearer twh_desk twh_shop"}, "", "invalid_token"},
		"more after it":                    {may, []string{"Bearer twh_desk, Basic x"}, "", "invalid_token"},
		"one that is too long":             {may, []string{"Bearer " + strings.Repeat("x", 17_000)}, "", "invalid_token"},
		"one in the URL":                   {must, nil, "access_token=twh_desk", "invalid_token"},
		"one in the URL beside another":    {must, []string{"Bearer twh_desk"}, "access_token=twh_desk", "invalid_token"},
		"one in the URL of an open host":   {may, nil, "access_token=twh_desk", "invalid_token"},
		"one that nobody looks at":         {none, []string{"Bearer twh_desk"}, "", "anonymous"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/mcp?"+c.query, nil)
			for _, h := range c.header {
				r.Header.Add("Authorization", h)
			}
			p, refused := c.door.Identify(r)
			if refused == nil {
				if p.String() != c.want {
					t.Errorf("it is from %s", p)
				}
				return
			}
			if refused.Status != http.StatusUnauthorized || !strings.Contains(refused.Challenge, c.want) ||
				!strings.HasPrefix(refused.Challenge, "Bearer ") || refused.Text == "" || !p.IsAnonymous() {
				t.Errorf("%+v %s", refused, p)
			}
			if said := fmt.Sprintf("%+v", refused); strings.Contains(said, "twh_") || strings.Contains(said, "xxx") {
				t.Errorf("it says what was sent: %s", said)
			}
		})
	}
}

func TestANameTakesThePlaceOfATokenAndProvesNothing(t *testing.T) {
	const byUser = `headers[?"x-user"].orValue("")`
	for name, c := range map[string]struct {
		door   auth.Door
		header map[string]string
		want   string // the principal, or the code of a refusal
	}{
		"a header":                   {auth.Door{Names: names(t, byUser)}, map[string]string{"X-User": "ada"}, "named/ada"},
		"what looks like another":    {auth.Door{Names: names(t, byUser)}, map[string]string{"X-User": "operator/root"}, "named/operator/root"},
		"no name":                    {auth.Door{Names: names(t, byUser)}, nil, "unauthorized"},
		"no name, and none needed":   {auth.Door{Names: names(t, byUser), Anonymous: true}, nil, "anonymous"},
		"an error":                   {auth.Door{Names: names(t, `headers["x-user"]`), Anonymous: true}, nil, "principal-failed"},
		"the address":                {auth.Door{Names: names(t, "peer")}, nil, "named/192.0.2.1"},
		"a token":                    {auth.Door{Verifier: tokens(t), Names: names(t, "token.client_id + '/' + token.subject")}, map[string]string{"Authorization": "Bearer twh_desk"}, "named/desk/ada"},
		"a scope":                    {auth.Door{Verifier: tokens(t), Names: names(t, "'read' in token.scopes ? 'reader' : ''")}, map[string]string{"Authorization": "Bearer twh_desk"}, "named/reader"},
		"a claim":                    {auth.Door{Verifier: tokens(t), Names: names(t, "claims.level == 3 && claims.share < 0.2 ? string(claims.team) : ''")}, map[string]string{"Authorization": "Bearer twh_desk"}, "named/north"},
		"a claim of no token":        {auth.Door{Names: names(t, "has(claims.team) ? 'a' : 'b'")}, nil, "named/b"},
		"a number that is not exact": {auth.Door{Verifier: tokens(t), Names: names(t, "claims.level > 0 ? 'a' : 'b'")}, map[string]string{"Authorization": "Bearer twh_shop"}, "principal-failed"},
		"one that nobody looks at":   {auth.Door{Verifier: tokens(t), Names: names(t, "token.client_id")}, map[string]string{"Authorization": "Bearer twh_shop"}, "named/shop"},
		"no token where one must be": {auth.Door{Verifier: tokens(t), Names: names(t, byUser)}, map[string]string{"X-User": "ada"}, "unauthorized"},
		"a wrong token":              {auth.Door{Verifier: tokens(t), Names: names(t, byUser), Anonymous: true}, map[string]string{"X-User": "ada", "Authorization": "Bearer x"}, "unauthorized"},
		"a token nobody verified":    {auth.Door{Names: names(t, "token.client_id")}, map[string]string{"Authorization": "Bearer twh_desk"}, "unauthorized"},
		"a credential":               {auth.Door{Names: names(t, `headers["authorization"]`)}, map[string]string{"Authorization": "Bearer twh_desk"}, "principal-failed"},
		"a name that is too long":    {auth.Door{Names: names(t, byUser)}, map[string]string{"X-User": strings.Repeat("a", 257)}, "principal-failed"},
		"a name with a line break":   {auth.Door{Names: names(t, byUser)}, map[string]string{"X-User": "a\nb"}, "principal-failed"},
		"a name that is no UTF-8":    {auth.Door{Names: names(t, byUser)}, map[string]string{"X-User": "a\xff"}, "principal-failed"},
		"what costs too much":        {auth.Door{Names: names(t, `headers["x-user"].matches("(a*)*b(a*)*b(a*)*b(a*)*b") ? "a" : "b"`)}, map[string]string{"X-User": strings.Repeat("a", 60_000)}, "principal-failed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
			for k, v := range c.header {
				r.Header.Set(k, v)
			}
			p, refused := c.door.Identify(r)
			got := p.String()
			if refused != nil {
				got = refused.Code
				if !p.IsAnonymous() || refused.Status == http.StatusForbidden && refused.Err == nil {
					t.Errorf("%+v %s", refused, p)
				}
			}
			if got != c.want {
				t.Errorf("%s %+v, want %s", got, refused, c.want)
			}
		})
	}
}

func TestWhatATokenGrantsIsItsBearersUnderAnyName(t *testing.T) {
	for name, c := range map[string]struct {
		door auth.Door
		want string
	}{
		"its own":  {auth.Door{Verifier: tokens(t)}, `["desk","","ada"]`},
		"a name":   {auth.Door{Verifier: tokens(t), Names: names(t, "'x'")}, "named/x"},
		"no token": {auth.Door{Names: names(t, "'x'")}, "named/x"},
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header.Set("Authorization", "Bearer twh_desk")
		p, refused := c.door.Identify(r)
		if refused != nil || p.String() != c.want {
			t.Fatalf("%s: it is from %s: %+v", name, p, refused)
		}
		if name == "no token" {
			if len(p.Scopes) > 0 || !p.Claims.IsZero() {
				t.Errorf("%s: what nobody verified grants %+v", name, p)
			}
			continue
		}
		if !slices.Equal(p.Scopes, []string{"read", "write"}) || p.Claims.Digest() != desk.Rest.Digest() {
			t.Errorf("%s: it grants %q and says %s", name, p.Scopes, p.Claims.Bytes())
		}
	}
}

func TestTwoHeadersOfOneNameAreNeitherOfThem(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Header.Add("X-User", "mallory")
	r.Header.Add("X-User", "ada")
	p, _ := (&auth.Door{Names: names(t, `headers["x-user"]`)}).Identify(r)
	if p.String() != "named/mallory, ada" {
		t.Errorf("it is from %s", p)
	}
}

func TestAnExpressionThatCannotNameAnybodyIsAFaultOfItsAuthor(t *testing.T) {
	for expression, want := range map[string]string{
		"":                              "is no CEL expression",
		"headers[":                      "character 9",
		"header['x']":                   "undeclared reference to 'header'",
		"token.client":                  "undefined field 'client'",
		"peer.matches('(') ? 'a' : 'b'": "invalid matches argument",
		"1 + 1":                         "must give a string, gives int",
		"token.scopes":                  "must give a string, gives list(string)",
		"headers['a'] == 'b'":           "must give a string, gives bool",
		"dyn(headers['a'])":             "must give a string, gives dyn",
		strings.Repeat("'a'+", 2000):    "more than 4096 bytes",
	} {
		if _, err := auth.NewNames(expression); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: %v, want %s", expression, err, want)
		}
	}
}

func TestANewTokenIsKnownByItsDigestAlone(t *testing.T) {
	token, digest := auth.NewToken()
	again, _ := auth.NewToken()
	if token == again || !strings.HasPrefix(token, "twh_") || len(token) != len("twh_")+43 || digest != digestOf(token) {
		t.Errorf("%s %s", token, digest)
	}
	var known auth.Tokens
	if err := known.Add(digest, desk); err != nil {
		t.Fatal(err)
	}
	if c, err := known.Verify(context.Background(), token); err != nil || c.ClientID != "desk" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := known.Verify(context.Background(), digest); err == nil {
		t.Error("its digest is as good as the token")
	}
	for _, bad := range []string{"", "abc", digest + "00", strings.Repeat("x", 64)} {
		if err := known.Add(bad, desk); err == nil {
			t.Errorf("%q was taken for a digest", bad)
		}
	}
}

func FuzzIdentify(f *testing.F) {
	for _, s := range []string{"", "Bearer", "Bearer twh_desk", "bearer  twh_desk", "Bearer twh_desk\x00", "Basic eDp5", "Bearer twh_desk,"} {
		f.Add(s, "ada")
	}
	known := &auth.Tokens{}
	if err := known.Add(digestOf("twh_desk"), desk); err != nil {
		f.Fatal(err)
	}
	n, err := auth.NewNames(`token.subject + headers[?"x-user"].orValue("")`)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, authorization, user string) {
		r := &http.Request{URL: httptest.NewRequest(http.MethodPost, "/mcp", nil).URL, Header: http.Header{"Authorization": {authorization}, "X-User": {user}}}
		for _, door := range []*auth.Door{{Verifier: known}, {Verifier: known, Names: n}} {
			p, refused := door.Identify(r)
			scheme, token, _ := strings.Cut(authorization, " ")
			good := strings.EqualFold(scheme, "Bearer") && strings.Trim(token, " ") == "twh_desk"
			if !good && (refused == nil || !p.IsAnonymous()) {
				t.Errorf("%q made the caller %s", authorization, p)
			}
			if good && door.Names == nil && (refused != nil || p.ClientID != "desk") {
				t.Errorf("%q: %+v", authorization, refused)
			}
		}
	})
}
