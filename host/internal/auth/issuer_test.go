// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"
)

// signer is a key of an issuer, and how it is published.
type signer struct {
	kid    string
	method jwt.SigningMethod
	key    any
	jwk    string
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func rsaSigner(t testing.TB, kid string, bits int) signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return signer{kid, jwt.SigningMethodPS256, key, fmt.Sprintf(`{"kty":"RSA","kid":%q,"n":%q,"e":"AQAB"}`, kid, b64(key.N.Bytes()))}
}

func ecSigner(t testing.TB, kid string) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return signer{kid, jwt.SigningMethodES256, key, fmt.Sprintf(`{"kty":"EC","kid":%q,"crv":"P-256","x":%q,"y":%q,"use":"sig"}`, kid, b64(point[1:33]), b64(point[33:]))}
}

func edSigner(t testing.TB, kid string) signer {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{kid, jwt.SigningMethodEdDSA, key, fmt.Sprintf(`{"kty":"OKP","kid":%q,"crv":"Ed25519","x":%q}`, kid, b64(public))}
}

func (s signer) sign(t testing.TB, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(s.method, claims)
	if s.kid != "" {
		token.Header["kid"] = s.kid
	}
	text, err := token.SignedString(s.key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// site is an issuer's, with what lies where.
type site struct {
	*httptest.Server

	pages map[string]string
	asked atomic.Int64
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{pages: map[string]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		page, ok := s.pages[r.URL.Path]
		if to, moved := strings.CutPrefix(page, "->"); moved {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(page))
	}))
	t.Cleanup(s.Close)
	return s
}

// issuer is the host's view of a site, after a first look at it.
func (s *site) issuer(t *testing.T, c IssuerConfig) (*Issuer, error) {
	t.Helper()
	c.Log, c.Audience = slog.New(slog.DiscardHandler), "toolwharf"
	i := NewIssuer(c)
	t.Cleanup(i.end)
	return i, i.fetch()
}

func good(issuer string) jwt.MapClaims {
	return jwt.MapClaims{"iss": issuer, "aud": "toolwharf", "sub": "ada", "exp": time.Now().Unix() + 60}
}

func TestMetadataIsFoundWhereItMayLieAndTokensNameTheIssuerAsItDoes(t *testing.T) {
	key := ecSigner(t, "a")
	for name, c := range map[string]struct {
		configured, place, said string // of the issuer, behind the site's address
		tokens                  string
		fails                   string
	}{
		"below it":                        {"", "/.well-known/openid-configuration", "", "", ""},
		"below its path":                  {"/realms/a", "/realms/a/.well-known/openid-configuration", "/realms/a", "/realms/a", ""},
		"before its path":                 {"/realms/a", "/.well-known/oauth-authorization-server/realms/a", "/realms/a", "/realms/a", ""},
		"before its path, of OpenID":      {"/realms/a", "/.well-known/openid-configuration/realms/a", "/realms/a", "/realms/a", ""},
		"of OAuth alone":                  {"", "/.well-known/oauth-authorization-server", "", "", ""},
		"with a slash that it leaves out": {"/", "/.well-known/openid-configuration", "", "", ""},
		"without a slash that it has":     {"", "/.well-known/openid-configuration", "/", "/", ""},
		"of another issuer":               {"/a", "/a/.well-known/openid-configuration", "/b", "", "that of the issuer"},
		"of a longer issuer":              {"/a", "/a/.well-known/openid-configuration", "/a//", "", "that of the issuer"},
		"nowhere":                         {"", "/x", "", "", "404"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.pages[c.place] = fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q,"ISSUER":"https://evil.example"}`, s.URL+c.said, s.URL+"/keys")
			s.pages["/keys"] = `{"keys":[` + key.jwk + `]}`
			i, err := s.issuer(t, IssuerConfig{Issuer: s.URL + c.configured})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) || !strings.Contains(i.Fault(), c.fails) {
					t.Errorf("%v, %s", err, i.Fault())
				}
				return
			}
			if err != nil || i.Fault() != "" {
				t.Fatal(err, i.Fault())
			}
			claims, err := i.Verify(t.Context(), key.sign(t, good(s.URL+c.tokens)))
			if err != nil || claims.Issuer != s.URL+c.tokens || claims.Subject != "ada" {
				t.Errorf("%+v, %v", claims, err)
			}
			for _, other := range []string{s.URL + c.tokens + "/", strings.TrimSuffix(s.URL+c.tokens, "/") + "x"} {
				if _, err := i.Verify(t.Context(), key.sign(t, good(other))); !errors.Is(err, ErrInvalid) {
					t.Errorf("a token of %s: %v", other, err)
				}
			}
		})
	}
}

func TestAnAnswerOfAnIssuerThatIsNoneLetsNobodyIn(t *testing.T) {
	elsewhere := newSite(t)
	elsewhere.pages["/keys"] = `{"keys":[` + ecSigner(t, "a").jwk + `]}`
	short := rsaSigner(t, "a", 1024)
	for name, c := range map[string]struct{ keys, want string }{
		"a redirect to elsewhere": {"->" + elsewhere.URL + "/keys", "redirects elsewhere"},
		"a redirect to itself":    {"->/keys", "redirects elsewhere"},
		"no JSON":                 {"<html>", "no set of keys"},
		"no keys":                 {`{"keys":[]}`, "no key that tokens could be signed with"},
		"no set":                  {`[]`, "no set of keys"},
		"a shared secret":         {`{"keys":[{"kty":"oct","kid":"a","k":"c2VjcmV0"}]}`, "no key that"},
		"a short RSA key":         {`{"keys":[` + short.jwk + `]}`, "no key that"},
		"a key for encryption":    {`{"keys":[` + strings.Replace(ecSigner(t, "a").jwk, "sig", "enc", 1) + `]}`, "no key that"},
		"a point off its curve":   {`{"keys":[{"kty":"EC","kid":"a","crv":"P-256","x":"AQ","y":"AQ"}]}`, "no key that"},
		"too many keys":           {`{"keys":[` + strings.Repeat("{},", maxKeys) + `{}]}`, "more than 64"},
		"too much":                {`{"keys":[` + strings.Repeat(" ", maxAnswer) + `]}`, "more than 524288 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.pages["/keys"] = c.keys
			i, err := s.issuer(t, IssuerConfig{Issuer: s.URL, JWKS: s.URL + "/keys"})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatal(err)
			}
			if _, err := i.Verify(t.Context(), ecSigner(t, "a").sign(t, good(s.URL))); !errors.Is(err, ErrUnavailable) {
				t.Errorf("a token is %v", err)
			}
		})
	}
}

func TestTokensMayBeSignedInEveryAsymmetricWayWithOrWithoutTheNameOfTheirKey(t *testing.T) {
	signers := []signer{rsaSigner(t, "a", 2048), ecSigner(t, "b"), edSigner(t, "c")}
	s := newSite(t)
	published := `{"kty":"oct","kid":"x","k":"c2VjcmV0"},{"kty":"new"},` // are left out
	for _, k := range signers {
		published += k.jwk + ","
	}
	s.pages["/keys"] = `{"keys":[` + strings.TrimSuffix(published, ",") + `]}`
	i, err := s.issuer(t, IssuerConfig{Issuer: s.URL, JWKS: s.URL + "/keys"})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range signers {
		for _, kid := range []string{k.kid, ""} {
			k.kid = kid
			if _, err := i.Verify(t.Context(), k.sign(t, good(s.URL))); err != nil {
				t.Errorf("%s with the key %q: %v", k.method.Alg(), kid, err)
			}
		}
	}
	swapped := signers[0]
	swapped.kid = "b"
	if _, err := i.Verify(t.Context(), swapped.sign(t, good(s.URL))); !errors.Is(err, ErrInvalid) {
		t.Errorf("under the name of another key: %v", err)
	}
	critical := jwt.NewWithClaims(signers[1].method, good(s.URL))
	critical.Header["kid"], critical.Header["crit"] = "b", []string{"exp"}
	text, err := critical.SignedString(signers[1].key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Verify(t.Context(), text); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "crit") {
		t.Errorf("with crit: %v", err)
	}
}

func TestATokenThatNamesAnUnknownKeyMakesTheHostLookButNotOften(t *testing.T) {
	s, old, young := newSite(t), ecSigner(t, "old"), ecSigner(t, "young")
	s.pages["/keys"] = `{"keys":[` + old.jwk + `]}`
	i, err := s.issuer(t, IssuerConfig{Issuer: s.URL, JWKS: s.URL + "/keys"})
	if err != nil {
		t.Fatal(err)
	}
	other := good("https://other.example")
	if _, err := i.Verify(t.Context(), ecSigner(t, "x").sign(t, other)); !errors.Is(err, ErrInvalid) || s.asked.Load() != 1 {
		t.Errorf("a token of another issuer: %v, asked %d times", err, s.asked.Load())
	}
	s.pages["/keys"] = `{"keys":[` + young.jwk + `]}`
	if _, err := i.Verify(t.Context(), young.sign(t, good(s.URL))); err != nil {
		t.Errorf("a new key: %v", err)
	}
	if _, err := i.Verify(t.Context(), old.sign(t, good(s.URL))); !errors.Is(err, ErrInvalid) {
		t.Errorf("a key that is withdrawn: %v", err)
	}
	stranger := ecSigner(t, "stranger").sign(t, good(s.URL))
	for range 50 {
		if _, err := i.Verify(t.Context(), stranger); !errors.Is(err, ErrInvalid) {
			t.Fatal(err)
		}
	}
	if n := s.asked.Load(); n > 1+askAgainBurst+1 {
		t.Errorf("the issuer was asked %d times", n)
	}
	s.Close() // what is known stays good
	if _, err := i.Verify(t.Context(), young.sign(t, good(s.URL))); err != nil {
		t.Errorf("while the issuer is away: %v", err)
	}
}

func TestKeysAreKeptWhileTheIssuerIsAwayButNotForEver(t *testing.T) {
	s, key := newSite(t), ecSigner(t, "a")
	s.pages["/keys"] = `{"keys":[` + key.jwk + `]}`
	i, err := s.issuer(t, IssuerConfig{Issuer: s.URL, JWKS: s.URL + "/keys"})
	if err != nil {
		t.Fatal(err)
	}
	s.pages["/keys"] = "gone"
	if err := i.fetch(); err == nil || i.Fault() == "" {
		t.Errorf("%v %q", err, i.Fault())
	}
	token := key.sign(t, good(s.URL))
	if _, err := i.Verify(t.Context(), token); err != nil {
		t.Errorf("at once: %v", err)
	}
	old := *i.known.Load()
	old.at = old.at.Add(-stale)
	i.known.Store(&old)
	if _, err := i.Verify(t.Context(), token); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a day later: %v", err)
	}
}

func TestAnIssuerThatEndsLeavesNothingBehind(t *testing.T) {
	s := newSite(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	i := NewIssuer(IssuerConfig{Issuer: s.URL, JWKS: s.URL + "/keys", Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { i.Run(ctx); close(done) }()
	for i.Fault() == "" {
		time.Sleep(time.Millisecond)
	}
	cancel()
	<-done
	if _, err := i.Verify(t.Context(), ecSigner(t, "a").sign(t, good(s.URL))); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
	s.Close()
}

func TestWhatATokenSaysIsReadByItsExactNames(t *testing.T) {
	for name, c := range map[string]struct {
		payload string
		want    string // client, subject, scopes; or part of the error
	}{
		"a client and a subject":        {`{"client_id":"desk","sub":"ada","scope":"a b"}`, "desk ada [a b]"},
		"a client by azp":               {`{"azp":"desk","sub":"ada"}`, "desk ada []"},
		"client_id before azp":          {`{"azp":"x","client_id":"desk"}`, "desk  []"},
		"scp as a list":                 {`{"sub":"ada","scp":["b","a"]}`, " ada [a b]"},
		"scp as a text":                 {`{"sub":"ada","scp":"b a a"}`, " ada [a b]"},
		"scope as a list":               {`{"sub":"ada","scope":["b","a c"]}`, " ada [a b c]"},
		"both":                          {`{"sub":"ada","scope":"a","scp":["b"]}`, " ada [a b]"},
		"a scope that is a number":      {`{"sub":"ada","scope":7}`, "scope is neither"},
		"names in another case":         {`{"sub":"ada","SUB":"root","Scope":"admin","Client_Id":"x"}`, " ada []"},
		"a name that is there twice":    {`{"sub":"ada","sub":"root"}`, "duplicate key"},
		"a subject that is a number":    {`{"sub":7}`, "names neither"},
		"a list":                        {`["sub"]`, "no object"},
		"null":                          {`null`, "no object"},
		"a subject that is too long":    {`{"sub":"` + strings.Repeat("a", maxPart+1) + `"}`, "at most 256 bytes"},
		"a subject that turns the text": {`{"sub":"a\u202eb"}`, "printable"},
		"too many scopes":               {`{"sub":"a","scope":"` + manyScopes() + `"}`, "more than 256 scopes"},
	} {
		c2, err := read([]byte(c.payload), "https://id.example")
		got := fmt.Sprintf("%s %s %v", c2.ClientID, c2.Subject, c2.Scopes)
		if err != nil {
			got = err.Error()
		}
		if err == nil && got != c.want || err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	c, err := read([]byte(`{"sub":"ada","exp":2000000000,"iat":1,"nbf":1,"jti":"x","team":"north","level":9007199254740993}`), "https://id.example")
	if err != nil || string(c.Rest.Canonical()) != `{"level":9007199254740993,"sub":"ada","team":"north"}` || c.Expires.Unix() != 2000000000 {
		t.Errorf("%s %v %v", c.Rest.Canonical(), c.Expires, err)
	}
}

func manyScopes() string {
	var b strings.Builder
	for n := range maxScopes + 1 {
		_, _ = fmt.Fprintf(&b, "s%d ", n)
	}
	return b.String()
}

func TestAURLThatIsAskedAboutTokensIsOneThatNobodyOnTheWayCanAnswerFor(t *testing.T) {
	for raw, fine := range map[string]bool{
		"https://id.example.com/realms/a": true, "http://127.0.0.1:8080": true, "http://[::1]/x": true, "http://localhost": true,
		"http://id.example.com": false, "http://127.0.0.1.evil.example": false, "http://localhost.evil.example": false, "ftp://x": false,
		"https://": false, "https:x": false, "https://u:p@x": false, "https://x#y": false, "https://x#": false, "": false, "/x": false, "http://10.0.0.1": false,
	} {
		if err := CheckURL(raw); (err == nil) != fine {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func FuzzJWT(f *testing.F) {
	key := ecSigner(f, "a")
	set, err := readKeys([]byte(`{"keys":[` + key.jwk + `]}`))
	if err != nil {
		f.Fatal(err)
	}
	i := NewIssuer(IssuerConfig{Issuer: "https://id.example", Audience: "toolwharf", Log: slog.New(slog.DiscardHandler)})
	i.end() // nothing is fetched
	i.known.Store(&keys{metadata: metadata{issuer: "https://id.example"}, find: set, at: time.Now().Add(time.Hour)})
	valid := key.sign(f, good("https://id.example"))
	f.Add(valid)
	f.Add(strings.Replace(valid, ".", "..", 1))
	f.Add(b64([]byte(`{"alg":"none"}`)) + "." + b64([]byte(`{"iss":"https://id.example"}`)) + ".")
	f.Fuzz(func(t *testing.T, token string) {
		c, err := i.Verify(t.Context(), token)
		if err == nil && (c.Issuer != "https://id.example" || c.Subject != "ada" || !strings.HasPrefix(valid, token[:strings.LastIndex(token, ".")])) {
			t.Errorf("%s is %+v", token, c)
		}
	})
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte(`{"keys":[` + ecSigner(f, "a").jwk + `,` + edSigner(f, "").jwk + `,{"kty":"oct","k":"AA"}]}`))
	f.Add([]byte(`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB","x5u":"http://127.0.0.1:1","x5c":["AA"]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		set, err := readKeys(body)
		if err != nil {
			return
		}
		all, err := set.VerificationKeySet(t.Context())
		if err != nil || len(all.Keys) == 0 || len(all.Keys) > maxKeys {
			t.Fatalf("%d keys, %v", len(all.Keys), err)
		}
		for _, k := range all.Keys {
			switch k.(type) {
			case *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey:
			default:
				t.Errorf("a %T verifies", k)
			}
		}
	})
}

func FuzzMetadata(f *testing.F) {
	f.Add([]byte(`{"issuer":"https://id.example","jwks_uri":"https://id.example/keys"}`))
	f.Add([]byte(`{"issuer":"https://id.example/","jwks_uri":"http://id.example/keys"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := readMetadata(body, "https://id.example")
		if err == nil && (!slices.Contains([]string{"https://id.example", "https://id.example/"}, m.issuer) || !strings.HasPrefix(strings.ToLower(m.jwks), "https://")) {
			t.Errorf("%+v", m)
		}
	})
}

func FuzzSaid(f *testing.F) {
	f.Add([]byte(`{"sub":"ada","scope":"a b","exp":1e9,"azp":"x"}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		c, err := read(payload, "https://id.example")
		if err != nil {
			return
		}
		if c.Subject == "" && c.ClientID == "" || len(c.Subject) > maxPart || len(c.Scopes) > maxScopes || !json.Valid(c.Rest.Bytes()) {
			t.Errorf("%+v", c)
		}
	})
}

func FuzzBearer(f *testing.F) {
	f.Add("Bearer abc")
	f.Add("bearer  a.b-c_d~e+f/g== ")
	f.Fuzz(func(t *testing.T, header string) {
		token, sent, ok := bearer(http.Header{"Authorization": {header}})
		if !sent || ok && (token == "" || len(token) > maxToken || strings.ContainsAny(token, " \t\r\n\x00\",;")) {
			t.Errorf("%q of %q", token, header)
		}
	})
}
