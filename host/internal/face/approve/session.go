// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

const (
	// sessionTime is how long somebody stays signed in.
	sessionTime = 30 * time.Minute
	purpose     = "session"
	// maxCookie is the longest cookie that every browser keeps, in bytes.
	maxCookie = 4000
)

// Sealer closes what a browser keeps; see package seal.
type Sealer interface {
	Seal(purpose string, payload []byte, until time.Time) string
	Open(purpose, state string, now time.Time) ([]byte, error)
}

// session is somebody who is signed in. It lies in a cookie of the browser,
// sealed, so that any host which shares the keys knows it.
type session struct {
	Kind     tool.PrincipalKind `json:"k"`
	Subject  string             `json:"s"`
	ClientID string             `json:"c,omitempty"`
	Issuer   string             `json:"i,omitempty"`
	Scopes   []string           `json:"g,omitempty"`
	Claims   json.RawMessage    `json:"x,omitempty"`
	// Token is the fingerprint of the operator token: the session of who holds it
	// ends with it.
	Token string `json:"t,omitempty"`
	// CSRF has to come with each form.
	CSRF string `json:"f"`

	who tool.Principal
}

func newSession(who tool.Principal, token string) *session {
	return &session{
		Kind: who.Kind, Subject: who.Subject, ClientID: who.ClientID, Issuer: who.Issuer, Scopes: who.Scopes,
		Claims: who.Claims.Bytes(), Token: token, CSRF: rand.Text(), who: who,
	}
}

// name is who is signed in, for people.
func (s *session) name() string {
	all := parts(s.who.String())
	said := make([]string, 0, len(all))
	for _, p := range all {
		if p.Label != "issuer" { // the header is short, and who decided is shown in full
			said = append(said, strings.TrimSpace(p.Label+" "+p.Value))
		}
	}
	return strings.Join(said, ", ")
}

// sent reports whether a form was made for this session.
func (s *session) sent(csrf string) bool {
	return subtle.ConstantTimeCompare([]byte(s.CSRF), []byte(csrf)) == 1
}

// cookieName begins with __Host- where that can be: no other host of the same
// domain, and nobody on the way, can then set it.
func (p *page) cookieName(r *http.Request) string {
	if p.secure(r) {
		return "__Host-toolwharf-session"
	}
	return "toolwharf-session"
}

func (p *page) cookie(r *http.Request, value string, age time.Duration) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // it is Secure wherever there is TLS; a local host has none
		Name: p.cookieName(r), Value: value, Path: "/", MaxAge: int(age.Seconds()),
		HttpOnly: true, Secure: p.secure(r), SameSite: http.SameSiteStrictMode,
	}
}

// begin signs somebody in, at most until what proves who it is ends; the zero time:
// that has no end.
func (p *page) begin(w http.ResponseWriter, r *http.Request, s *session, until time.Time) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("session: %w", err)
	}
	now := time.Now()
	age := sessionTime
	if !until.IsZero() {
		age = min(age, until.Sub(now))
	}
	sealed := p.Sealer.Seal(purpose, raw, now.Add(age))
	if len(sealed) > maxCookie {
		return errors.New("session: what the token says of its bearer is too large for a cookie")
	}
	http.SetCookie(w, p.cookie(r, sealed, age))
	return nil
}

// end signs out.
func (p *page) end(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, p.cookie(r, "", -time.Second))
}

// session is that of a request's browser, nil if nobody is signed in there.
func (p *page) session(r *http.Request) *session {
	cookies := r.CookiesNamed(p.cookieName(r))
	if len(cookies) != 1 {
		return nil // which of them is whose cannot be told
	}
	raw, err := p.Sealer.Open(purpose, cookies[0].Value, time.Now())
	if err != nil {
		return nil
	}
	var s session
	if json.Unmarshal(raw, &s) != nil || s.Kind == tool.Operator && s.Token != p.Operators.Fingerprint() {
		return nil
	}
	s.who = tool.Principal{Kind: s.Kind, Subject: s.Subject, ClientID: s.ClientID, Issuer: s.Issuer, Scopes: s.Scopes}
	if len(s.Claims) > 0 {
		if s.who.Claims, err = tool.ParseJSON(s.Claims); err != nil {
			return nil
		}
	}
	return &s
}
