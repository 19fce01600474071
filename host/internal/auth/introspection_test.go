// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const said = `"aud":["x","toolwharf"],"sub":"ada","client_id":"desk","scope":"a b"`

func TestWhatAnIssuerSaysOfATokenCountsOnlyForThisHost(t *testing.T) {
	now := time.Unix(2_000_000_000, 0)
	for name, c := range map[string]struct{ body, want string }{
		"active":                        {`{"active":true,` + said + `}`, "desk ada [a b] https://id.example"},
		"active, with a slash":          {`{"active":true,"iss":"https://id.example/",` + said + `}`, "desk ada [a b] https://id.example/"},
		"active, until later":           {`{"active":true,"exp":2000000100,"nbf":1999999999,"token_type":"bearer",` + said + `}`, "desk ada [a b] https://id.example"},
		"for one audience":              {`{"active":true,"aud":"toolwharf","sub":"ada"}`, " ada [] https://id.example"},
		"not active":                    {`{"active":false,` + said + `}`, "not active"},
		"active by a text":              {`{"active":"true",` + said + `}`, "not active"},
		"active in another case":        {`{"Active":true,` + said + `}`, "not active"},
		"active and not":                {`{"active":false,"active":true,` + said + `}`, "duplicate key"},
		"of another issuer":             {`{"active":true,"iss":"https://evil.example",` + said + `}`, "another issuer"},
		"for another audience":          {`{"active":true,"aud":"other","sub":"ada"}`, "audience"},
		"for no audience":               {`{"active":true,"sub":"ada"}`, "audience"},
		"expired":                       {`{"active":true,"exp":1999999000,` + said + `}`, "expired"},
		"expired in a way of its own":   {`{"active":true,"exp":"1999999000",` + said + `}`, "no time"},
		"not yet good":                  {`{"active":true,"nbf":2000001000,` + said + `}`, "not good yet"},
		"a refresh token":               {`{"active":true,"token_type":"refresh_token",` + said + `}`, "no bearer token"},
		"a token that is bound to keys": {`{"active":true,"token_type":"DPoP",` + said + `}`, "no bearer token"},
		"of nobody":                     {`{"active":true,"aud":"toolwharf"}`, "names neither"},
		"no JSON":                       {`active`, "no JSON"},
		"a list":                        {`[true]`, "no JSON object"},
		"null":                          {`null`, "not active"},
	} {
		var got string
		claims, err := readIntrospection([]byte(c.body), "https://id.example", "toolwharf", now)
		if err != nil {
			got = err.Error()
		} else {
			got = fmt.Sprintf("%s %s %v %s", claims.ClientID, claims.Subject, claims.Scopes, claims.Issuer)
		}
		if err == nil && got != c.want || err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// knowing is an issuer that knows some tokens.
type knowing struct {
	*httptest.Server

	asked  atomic.Int64
	answer atomic.Value // of what it says of every token; a string
	status atomic.Int64
	slow   chan struct{} // if not nil, it answers when this is closed
}

func newKnowing(t *testing.T) *knowing {
	t.Helper()
	k := &knowing{}
	k.answer.Store(`{"active":true,` + said + `}`)
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k.asked.Add(1)
		if k.slow != nil {
			<-k.slow
		}
		id, secret, _ := r.BasicAuth()
		if r.Method != http.MethodPost || r.FormValue("token") == "" || r.URL.RawQuery != "" || id != "ho%3Ast" || secret != "s%2B1" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if status := k.status.Load(); status != 0 {
			w.WriteHeader(int(status))
		}
		text, _ := k.answer.Load().(string)
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(k.Close)
	return k
}

func (k *knowing) introspection(c IntrospectionConfig) *Introspection {
	c.Issuer, c.Audience, c.URL, c.ClientID, c.ClientSecret = "https://id.example", "toolwharf", k.URL, "ho:st", "s+1"
	c.Log, c.Cache = slog.New(slog.DiscardHandler), time.Minute
	return NewIntrospection(c)
}

func TestATokenIsAskedAboutOnceForEverybodyWhoBringsItAtOnceAndForAMoment(t *testing.T) {
	k := newKnowing(t)
	k.slow = make(chan struct{})
	n := k.introspection(IntrospectionConfig{})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if c, err := n.Verify(t.Context(), "opaque"); err != nil || c.ClientID != "desk" {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
	for k.asked.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	close(k.slow)
	all.Wait()
	if _, err := n.Verify(t.Context(), "opaque"); err != nil {
		t.Error(err)
	}
	before := k.asked.Load()
	if before > 2 { // one that came when the first had its answer, at most
		t.Errorf("it was asked %d times", before)
	}
	if _, err := n.Verify(t.Context(), "another"); err != nil || k.asked.Load() != before+1 {
		t.Errorf("another token: %v, asked %d times", err, k.asked.Load())
	}
}

func TestAnIssuerThatCannotBeAskedLetsNobodyNewIn(t *testing.T) {
	k := newKnowing(t)
	n := k.introspection(IntrospectionConfig{})
	if _, err := n.Verify(t.Context(), "known"); err != nil {
		t.Fatal(err)
	}
	k.status.Store(http.StatusInternalServerError)
	if _, err := n.Verify(t.Context(), "new"); !errors.Is(err, ErrUnavailable) || !strings.Contains(n.Fault(), "500") {
		t.Errorf("%v %q", err, n.Fault())
	}
	if _, err := n.Verify(t.Context(), "known"); err != nil {
		t.Errorf("what is known: %v", err)
	}
	k.status.Store(0)
	if _, err := n.Verify(t.Context(), "new"); err != nil || n.Fault() != "" {
		t.Errorf("again: %v %q", err, n.Fault())
	}
	k.answer.Store(`{"active":false}`)
	for range 3 {
		if _, err := n.Verify(t.Context(), "revoked"); !errors.Is(err, ErrInvalid) {
			t.Error(err)
		}
	}
	if got := k.asked.Load(); got != 4 {
		t.Errorf("it was asked %d times", got)
	}
}

func TestTokensOfThisHostAndJWTsThatAreCheckedByTheirKeysAreNobodyElsesBusiness(t *testing.T) {
	k := newKnowing(t)
	jwt := ecSigner(t, "a").sign(t, good("https://id.example"))
	n := k.introspection(IntrospectionConfig{Opaque: true})
	for _, token := range []string{"twh_revoked", jwt} {
		if _, err := n.Verify(t.Context(), token); !errors.Is(err, ErrInvalid) || k.asked.Load() != 0 {
			t.Errorf("%.10s: %v, asked %d times", token, err, k.asked.Load())
		}
	}
	if _, err := k.introspection(IntrospectionConfig{}).Verify(t.Context(), jwt); err != nil || k.asked.Load() != 1 {
		t.Errorf("a JWT: %v, asked %d times", err, k.asked.Load())
	}
}

func TestAnAnswerIsKeptForItsTimeAtMostAndNoLongerThanItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := NewIntrospection(IntrospectionConfig{Issuer: "https://id.example", Audience: "toolwharf", Cache: time.Minute, Log: slog.New(slog.DiscardHandler)})
		asked, expires := 0, int64(0)
		n.client.Transport = answering(func() string {
			asked++
			exp := ""
			if expires != 0 {
				exp = fmt.Sprintf(`"exp":%d,`, expires)
			}
			return `{"active":true,` + exp + said + `}`
		})
		verify := func(token string, want int) {
			t.Helper()
			if _, err := n.Verify(t.Context(), token); err != nil || asked != want {
				t.Errorf("%s: %v, asked %d times, want %d", token, err, asked, want)
			}
		}
		verify("a", 1)
		time.Sleep(time.Minute - time.Second)
		verify("a", 1)
		time.Sleep(time.Second)
		verify("a", 2)
		expires = time.Now().Unix() + 5
		verify("b", 3)
		time.Sleep(6 * time.Second)
		verify("b", 4)
		for token := range maxKept + 1 { // too many: all are forgotten
			verify(fmt.Sprint("t", token), 5+token)
		}
		if len(n.active.of) > maxKept {
			t.Errorf("%d answers are kept", len(n.active.of))
		}
	})
}

func TestACallerIsKnownUntilItsTokenIsAskedAboutAgainAndThenSaysWhoItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := `{"active":true,` + said + `}`
		n := NewIntrospection(IntrospectionConfig{Issuer: "https://id.example", Audience: "toolwharf", Cache: time.Minute, Log: slog.New(slog.DiscardHandler)})
		n.client.Transport = answering(func() string { return answer })
		d := &Door{Verifier: n}
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header.Set("Authorization", "Bearer opaque")
		who, refused := d.Identify(r)
		first := time.Now()
		if refused != nil || who.Again == nil || !who.Until.Equal(first.Add(time.Minute)) {
			t.Fatalf("%+v, %v", who, refused)
		}
		time.Sleep(time.Minute)
		if who, refused = who.Again(t.Context()); refused != nil || who.ClientID != "desk" || !who.Until.Equal(first.Add(2*time.Minute)) {
			t.Fatalf("a minute later: %+v, %v", who, refused)
		}
		ends := time.Now().Add(90 * time.Second).Truncate(time.Second)
		answer = fmt.Sprintf(`{"active":true,"exp":%d,%s}`, ends.Unix(), said)
		time.Sleep(time.Minute)
		if who, refused = who.Again(t.Context()); refused != nil || who.Again != nil || !who.Until.Equal(ends) {
			t.Fatalf("within a minute of its end: %+v, %v", who, refused)
		}
		answer = `{"active":true,` + said + `}`
		if _, refused = d.Identify(r); refused != nil {
			t.Fatal(refused)
		}
		time.Sleep(time.Minute)
		again, refused := d.Identify(r)
		answer = `{"active":false}`
		time.Sleep(time.Minute)
		if _, gone := again.Again(t.Context()); refused != nil || gone == nil || gone.Status != http.StatusUnauthorized {
			t.Errorf("revoked: %+v, %v", gone, refused)
		}
	})
}

// answering is an issuer without a network.
type answering func() string

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	_, _ = w.WriteString(a())
	return w.Result(), nil
}

func FuzzIntrospection(f *testing.F) {
	f.Add([]byte(`{"active":true,"exp":2000000100,` + said + `}`))
	f.Add([]byte(`{"active":false}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := readIntrospection(body, "https://id.example", "toolwharf", time.Unix(2_000_000_000, 0))
		if err == nil && (c.Subject == "" && c.ClientID == "" || !strings.HasPrefix(c.Issuer, "https://id.example")) {
			t.Errorf("%+v of %s", c, body)
		}
	})
}
