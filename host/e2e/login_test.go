// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// signing is a host at whose page people sign in at a provider, and a call that waits
// there, asked for by somebody with a token of that provider. People reach the host by
// a name that is another site than the provider's.
func signing(t *testing.T, p *provider, login, asker string) (h *host, public string, waits pending) {
	t.Helper()
	address := freePort(t)
	public = "http://localhost:" + address[strings.LastIndex(address, ":")+1:]
	p.post("/test/return", "", "text/plain", strings.NewReader(public+"/approve/callback"))
	dir, _ := approving(t, fmt.Sprintf("http: {listen: %q, public_url: %q, auth: {issuer: %q, audience: toolwharf, login: {%s}}}\n",
		address, public, p.issuer, login))
	h = serveWith(t, dir, toolwharf, "PAGE_SECRET=secret")
	s := h.connectWith(bearer(asker), "", nil)
	lists(t, s, "echo_append_line", true)
	return h, public, waiting(t, s, `{"line":"a","n":1}`)
}

const secretLogin = `client_id: page, client_secret: "${PAGE_SECRET}"`

// asSomebody signs in at the provider, on the page that it shows.
func (b *tab) asSomebody(user string) {
	b.t.Helper()
	b.do("follow the link to the issuer", chromedp.Click(chromedp.CSS("main a.go")), chromedp.WaitReady(chromedp.CSS("#username")))
	b.fill("#username", user)
	b.fill("#password", "verysecure")
	b.do("sign in there", chromedp.Click(chromedp.CSS("button")), chromedp.WaitReady(chromedp.CSS("main .card")))
}

func TestAPersonSignsInAtTheIssuerAndDecides(t *testing.T) {
	t.Parallel()
	b := browse(t)
	p := provide(t, "127.0.0.1:0")
	h, public, waits := signing(t, p, secretLogin, p.token("desk"))
	page := public + "/approve/" + waits.approval
	b.open(page)
	b.has("Sign in with " + strings.TrimPrefix(p.issuer, "http://"))

	b.asSomebody("test-user2") // whom the issuer does not grant the scope
	b.has("You have signed in as client page, subject id2, and may not decide here", "toolwharf:operate")
	if text := b.text(); strings.Contains(text, "echo") || strings.Contains(text, waits.approval) {
		t.Errorf("who may not decide sees\n%s", text)
	}
	b.open(page)
	b.has("Sign in to decide")

	b.asSomebody("test-user@127.0.0.1")
	b.do("come to the approval", chromedp.WaitReady(chromedp.CSS("button[value=approve]")))
	b.has("Waiting for a decision", "echo_append_line", "client page, subject id1")
	b.submit("button[value=approve]")
	b.has("Approved", "id1", p.issuer)
	if _, a := h.operator().ask(http.MethodGet, "/v1/approvals/"+waits.approval, ""); a.Status != "approved" ||
		a.DecidedBy != fmt.Sprintf(`["page",%q,"id1"]`, p.issuer) {
		t.Errorf("%s by %s", a.Status, a.DecidedBy)
	}
	b.submit("header button")
	b.has("signed out")
	b.open(page)
	b.has("Sign in to decide")
	h.logs("toolwharf.http", "warn", "approval page: who signed in may not decide", "id2")
}

// visitor is a person's browser without a screen.
type visitor struct {
	t *testing.T
	*http.Client
}

func visits(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (v *visitor) send(method, to string, form url.Values) (*http.Response, string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), method, to, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := v.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return resp, string(raw)
}

// begin opens the way to the issuer, and returns what it was asked.
func (v *visitor) begin(public, approval string) *url.URL {
	v.t.Helper()
	resp, body := v.send(http.MethodGet, public+"/approve/start?next="+url.QueryEscape(approval), nil)
	to, err := resp.Location()
	if err != nil {
		v.t.Fatalf("%s %s", resp.Status, body)
	}
	return to
}

// signIn signs in at the issuer, and returns where that sends the browser.
func (v *visitor) signIn(at *url.URL, user string) string {
	v.t.Helper()
	resp, body := v.send(http.MethodGet, at.String(), nil)
	to, err := resp.Location()
	if err != nil {
		v.t.Fatalf("%s %s", resp.Status, body)
	}
	form := url.Values{"id": {to.Query().Get("authRequestID")}, "username": {user}, "password": {"verysecure"}}
	for method := http.MethodPost; !strings.Contains(to.Path, "/approve/"); method, form = http.MethodGet, nil {
		resp, body = v.send(method, to.String(), form)
		if to, err = resp.Location(); err != nil {
			v.t.Fatalf("%s %s", resp.Status, body)
		}
	}
	return to.String()
}

// signedIn is whether an answer has signed anybody in.
func signedIn(resp *http.Response) bool {
	for _, c := range resp.Cookies() {
		if strings.Contains(c.Name, "session") {
			return true
		}
	}
	return false
}

func TestNothingButTheAnswerOfTheIssuerToThisBrowserSignsAnybodyIn(t *testing.T) {
	t.Parallel()
	p := provide(t, "127.0.0.1:0")
	_, public, waits := signing(t, p, "client_id: public-page", p.token("desk"))
	const user = "test-user@127.0.0.1"
	twist := func(claims map[string]any) {
		raw, err := json.Marshal(claims)
		if err != nil {
			t.Fatal(err)
		}
		p.post("/test/twist", "", "application/json", bytes.NewReader(raw))
	}
	changed := func(to string, change func(url.Values)) string {
		u, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		change(q)
		u.RawQuery = q.Encode()
		return u.String()
	}
	refused := func(t *testing.T, v *visitor, to string, status int, says string) {
		t.Helper()
		resp, body := v.send(http.MethodGet, to, nil)
		if resp.StatusCode != status || !strings.Contains(body, says) || signedIn(resp) || strings.Contains(body, "echo") {
			t.Errorf("%s %v, without %q:\n%s", resp.Status, resp.Header, says, body)
		}
		if resp, _ := v.send(http.MethodGet, public+"/approve/"+waits.approval, nil); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("and then the page: %s", resp.Status)
		}
	}

	v := visits(t)
	asked := v.begin(public, waits.approval)
	q := asked.Query()
	if q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" || len(q.Get("code_challenge")) != 43 || q.Get("nonce") == "" ||
		q.Get("state") == "" || q.Get("scope") != "openid toolwharf:operate" || q.Get("redirect_uri") != public+"/approve/callback" {
		t.Errorf("the issuer is asked %s", asked)
	}
	back := v.signIn(asked, user)
	resp, body := v.send(http.MethodGet, back, nil)
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != waits.approval || !signedIn(resp) {
		t.Fatalf("%s %v %s", resp.Status, resp.Header, body)
	}
	resp, _ = v.send(http.MethodGet, public+"/approve/start", nil)
	for _, c := range resp.Cookies() {
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/approve/callback" || c.MaxAge != 600 || c.Domain != "" ||
			strings.Contains(c.Value, q.Get("state")) {
			t.Errorf("cookie %+v", c)
		}
	}

	t.Run("a page that never asked", func(t *testing.T) {
		other := visits(t)
		refused(t, visits(t), other.signIn(other.begin(public, waits.approval), user), http.StatusBadRequest, "no answer to a sign-in that was begun in this browser")
	})
	t.Run("the answer to somebody else", func(t *testing.T) {
		v, other := visits(t), visits(t)
		v.begin(public, waits.approval)
		refused(t, v, other.signIn(other.begin(public, waits.approval), user), http.StatusBadRequest, "no answer to a sign-in")
	})
	t.Run("somebody else's code under the own state", func(t *testing.T) {
		v, other := visits(t), visits(t)
		code, err := url.Parse(other.signIn(other.begin(public, waits.approval), user))
		if err != nil {
			t.Fatal(err)
		}
		to := changed(v.signIn(v.begin(public, waits.approval), user), func(q url.Values) { q.Set("code", code.Query().Get("code")) })
		refused(t, v, to, http.StatusBadRequest, "used before, or is too old") // by PKCE
	})
	t.Run("the same answer twice", func(t *testing.T) {
		v := visits(t)
		to := v.signIn(v.begin(public, waits.approval), user)
		at, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		kept := v.Jar.Cookies(at)
		if resp, body := v.send(http.MethodGet, to, nil); !signedIn(resp) {
			t.Fatalf("%s %s", resp.Status, body)
		}
		refused(t, visits(t), to, http.StatusBadRequest, "no answer to a sign-in")
		thief := visits(t) // who has the cookie too
		for _, c := range kept {
			c.Path = at.Path
		}
		thief.Jar.SetCookies(at, kept)
		refused(t, thief, to, http.StatusBadRequest, "used before, or is too old")
	})
	for name, c := range map[string]struct {
		change func(url.Values)
		status int
		says   string
	}{
		"another state":                        {func(q url.Values) { q.Set("state", q.Get("state")+"A") }, 400, "no answer to a sign-in"},
		"no state":                             {func(q url.Values) { q.Del("state") }, 400, "no answer to a sign-in"},
		"two states":                           {func(q url.Values) { q.Add("state", q.Get("state")) }, 400, "no answer to a sign-in"},
		"another issuer":                       {func(q url.Values) { q.Set("iss", "https://evil.example") }, 400, "no answer to a sign-in"},
		"no code":                              {func(q url.Values) { q.Del("code") }, 400, "no answer to a sign-in"},
		"a code that the issuer has forgotten": {func(q url.Values) { q.Set("code", "x") }, 400, "used before, or is too old"},
		"a no":                                 {func(q url.Values) { q.Del("code"); q.Set("error", "access_denied<script>") }, 403, "did not sign you in"},
	} {
		t.Run(name, func(t *testing.T) {
			v := visits(t)
			refused(t, v, changed(v.signIn(v.begin(public, waits.approval), user), c.change), c.status, c.says)
		})
	}
	now := time.Now().Unix()
	for name, claims := range map[string]map[string]any{
		"another nonce":           {"nonce": "x"},
		"no nonce":                {"nonce": nil},
		"another audience":        {"aud": "another"},
		"the audience of tokens":  {"aud": "toolwharf"},
		"two audiences, no azp":   {"aud": []string{"public-page", "another"}, "azp": nil},
		"made for another client": {"azp": "another"},
		"of another issuer":       {"iss": "https://evil.example"},
		"of nobody":               {"sub": nil},
		"too old":                 {"exp": now - 300},
		"of no end":               {"exp": nil},
	} {
		t.Run("an ID token with "+name, func(t *testing.T) {
			twist(claims)
			defer twist(map[string]any{})
			v := visits(t)
			refused(t, v, v.signIn(v.begin(public, waits.approval), user), http.StatusForbidden, "not valid here")
		})
	}
	t.Run("an ID token for several, made for this host", func(t *testing.T) {
		twist(map[string]any{"aud": []string{"another", "public-page"}, "azp": "public-page"})
		defer twist(map[string]any{})
		v := visits(t)
		if resp, body := v.send(http.MethodGet, v.signIn(v.begin(public, waits.approval), user), nil); !signedIn(resp) {
			t.Errorf("%s %s", resp.Status, body)
		}
	})
	for _, next := range []string{"https://evil.example", "//evil.example", "../v1/approvals", "callback"} {
		v := visits(t)
		if resp, body := v.send(http.MethodGet, v.signIn(v.begin(public, next), user), nil); resp.StatusCode != http.StatusOK || resp.Header.Get("Location") != "" {
			t.Errorf("next %q: %s %s", next, resp.Status, body)
		}
	}
}

func TestWhoAskedForACallDoesNotDecideByAnotherClientOfTheIssuer(t *testing.T) {
	t.Parallel()
	p := provide(t, "127.0.0.1:0")
	now := time.Now().Unix()
	asker := p.signed("", map[string]any{"iss": p.issuer, "aud": "toolwharf", "sub": "id1", "client_id": "desk", "iat": now, "exp": now + 300})
	h, public, waits := signing(t, p, secretLogin, asker)
	v := visits(t)
	if resp, body := v.send(http.MethodGet, v.signIn(v.begin(public, waits.approval), "test-user@127.0.0.1"), nil); !signedIn(resp) {
		t.Fatalf("%s %s", resp.Status, body)
	}
	if _, body := v.send(http.MethodGet, public+"/approve/"+waits.approval, nil); !strings.Contains(body, "somebody else has to decide") || strings.Contains(body, `value="approve"`) {
		t.Errorf("the asker sees\n%s", body)
	}
	if _, a := h.operator().ask(http.MethodGet, "/v1/approvals/"+waits.approval, ""); a.Status != "pending" {
		t.Errorf("it is %s by %s", a.Status, a.DecidedBy)
	}
}

func TestWhileTheIssuerIsAwayNobodySignsInThereAndTheOperatorTokenIsGoodAllTheSame(t *testing.T) {
	t.Parallel()
	address := freePort(t)
	dir, _ := approving(t, fmt.Sprintf("http: {listen: %q, public_url: %q, auth: {issuer: \"http://127.0.0.1:9\", audience: toolwharf, login: {client_id: page}}}\n",
		address, "http://"+address))
	h := serve(t, dir)
	eventually(t, "the page says so", func() error {
		resp, body := visits(t).send(http.MethodGet, h.base+"/approve/start", nil)
		if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "cannot be asked at the moment") {
			return errors.New(resp.Status + body)
		}
		return nil
	})
	b := visits(t)
	if resp, body := b.send(http.MethodGet, h.base+"/approve/callback?code=x&state=y", nil); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("%s %s", resp.Status, body)
	}
	if status, _ := h.operator().ask(http.MethodGet, "/v1/approvals", ""); status != http.StatusOK {
		t.Errorf("the operator: %d", status)
	}
}
