// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/auth"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

const (
	// loginTime is how long somebody may take at the issuer.
	loginTime    = 10 * time.Minute
	purposeLogin = "login"
	callbackPath = "/approve/callback"
)

// Callback is where an issuer sends browsers back to, of a host that people reach at
// a URL.
func Callback(publicURL string) string { return strings.TrimSuffix(publicURL, "/") + callbackPath }

// issuer is where people sign in: what it is called, and where that begins.
type issuer struct{ Host, Start string }

// begun is a sign-in that has begun. It lies in a cookie of the browser, sealed:
// an answer of the issuer is taken from the browser that has asked for it only.
type begun struct {
	auth.Attempt

	// Next is the approval that is wanted; empty: none.
	Next string `json:"a,omitempty"`
}

// issuer is where people sign in, if there is one. The link goes to where the issuer
// sends the browser back to, whatever name the host was reached by: the cookie has to
// be there.
func (p *page) issuer(next string) *issuer {
	if p.Login == nil {
		return nil
	}
	start := strings.TrimSuffix(p.PublicURL, "/") + "/approve/start"
	if next != "" {
		start += "?" + url.Values{"next": {next}}.Encode()
	}
	return &issuer{approval.Visible(p.Login.Host()), start}
}

// loginCookie goes to the callback alone, and unlike that of a session it is sent
// when a page of another site, the issuer's, leads there.
func (p *page) loginCookie(value string, age time.Duration) *http.Cookie {
	name, secure := "toolwharf-login", p.public.Scheme == "https"
	if secure {
		name = "__Secure-" + name
	}
	return &http.Cookie{ //nolint:gosec // it is Secure wherever there is TLS; a local host has none
		Name: name, Value: value, Path: strings.TrimSuffix(p.public.Path, "/") + callbackPath, MaxAge: int(age.Seconds()),
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode,
	}
}

// start sends the browser to the issuer. Nothing but a cookie comes of it, so a link
// will do.
func (p *page) start(w http.ResponseWriter, r *http.Request) {
	next := r.URL.Query().Get("next")
	if !tool.IsID(tool.PrefixApproval, next) {
		next = ""
	}
	to, attempt, err := p.Login.Begin(r.Context())
	if err != nil {
		p.notSignedIn(w, r, next, err)
		return
	}
	raw, err := json.Marshal(begun{attempt, next})
	if err != nil {
		p.failed(w, r, err)
		return
	}
	http.SetCookie(w, p.loginCookie(p.Sealer.Seal(purposeLogin, raw, time.Now().Add(loginTime)), loginTime))
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// callback signs in who comes back from the issuer. The cookie is good for one
// answer, whatever that is.
func (p *page) callback(w http.ResponseWriter, r *http.Request) {
	b, err := p.begun(r)
	http.SetCookie(w, p.loginCookie("", -time.Second))
	if err != nil {
		p.notSignedIn(w, r, "", err)
		return
	}
	who, err := p.Login.Finish(r.Context(), b.Attempt, r.URL.RawQuery)
	if err != nil {
		p.notSignedIn(w, r, b.Next, err)
		return
	}
	s := newSession(who, "")
	if !who.Operates() {
		p.Log.Warn("approval page: who signed in may not decide", "principal", who.String(), "peer", r.RemoteAddr)
		p.render(w, r, http.StatusForbidden, again(p.frame("Not yours to decide", nil), p.issuer(b.Next),
			"You have signed in as "+s.name()+", and may not decide here: "+p.Login.Host()+" does not grant you the scope "+
				tool.ScopeOperate+". Nothing was decided."))
		return
	}
	if err := p.begin(w, r, s, time.Time{}); err != nil {
		p.failed(w, r, err)
		return
	}
	if b.Next == "" {
		p.render(w, r, http.StatusOK, notice(p.frame("Signed in", nil), "You are signed in. Open the link of an approval again."))
		return
	}
	seeOther(w, b.Next)
}

// begun is the sign-in that has begun in a request's browser.
func (p *page) begun(r *http.Request) (b begun, err error) {
	cookies := r.CookiesNamed(p.loginCookie("", 0).Name)
	if len(cookies) != 1 { // none, or which of them is whose cannot be told
		return begun{}, auth.ErrForeign
	}
	raw, err := p.Sealer.Open(purposeLogin, cookies[0].Value, time.Now())
	if err != nil {
		return begun{}, errors.Join(auth.ErrForeign, err)
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return begun{}, errors.Join(auth.ErrForeign, err)
	}
	return b, nil
}

// notSignedIn says why nobody is, and where to begin anew.
func (p *page) notSignedIn(w http.ResponseWriter, r *http.Request, next string, err error) {
	p.Log.Warn("approval page: nobody was signed in", "error", err, "peer", r.RemoteAddr)
	status, text := http.StatusForbidden, "What the issuer says of you is not valid here, so you are not signed in. The host's log says why."
	switch {
	case errors.Is(err, auth.ErrUnavailable):
		status, text = http.StatusServiceUnavailable, "The issuer cannot be asked at the moment, so you are not signed in. The host's log says why; try again later."
	case errors.Is(err, auth.ErrForeign):
		status, text = http.StatusBadRequest, "This is no answer to a sign-in that was begun in this browser in the last ten minutes, so you are not signed in."
	case errors.Is(err, auth.ErrDeclined):
		text = "The issuer did not sign you in. The host's log says what it said."
	case errors.Is(err, auth.ErrSpent):
		status, text = http.StatusBadRequest, "This answer of the issuer was used before, or is too old, so you are not signed in."
	}
	p.render(w, r, status, again(p.frame("Not signed in", nil), p.issuer(next), text))
}
