// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/oauth2"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Why nobody is signed in. ErrInvalid is an ID token that is no good, and
// ErrUnavailable an issuer that cannot be asked.
var (
	// ErrForeign is an answer to something that was not begun.
	ErrForeign = errors.New("the answer is none to this sign-in")
	// ErrDeclined: the issuer, or the person there, says no.
	ErrDeclined = errors.New("the issuer signs nobody in")
	// ErrSpent is a code that was used, or is too old.
	ErrSpent = errors.New("the issuer does not know the code any more")
)

// LoginConfig is how people sign in at an issuer.
type LoginConfig struct {
	// Issuer is its URL.
	Issuer string
	// ClientID is this host's name there; ClientSecret is empty for a public client.
	ClientID, ClientSecret string
	// Scopes are what is asked for.
	Scopes []string
	// Callback is where the issuer sends the browser back to.
	Callback string
	// Pairwise: an issuer will do that gives one person another subject for each client.
	Pairwise bool
	Log      *slog.Logger
}

// Login signs people in at an issuer: the authorization code flow of OpenID Connect
// Core 1.0, 3.1, with PKCE (RFC 7636).
type Login struct {
	config LoginConfig
	issuer *Issuer
	client *http.Client
	slots  chan struct{}
}

// Attempt is one sign-in that has begun. Only the browser in which it has may hold
// it, and that cannot read it.
type Attempt struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
}

// NewLogin returns a login of which nothing is known yet, but whose URLs must be good
// (CheckURL). Run of its issuer keeps what is known fresh.
func NewLogin(c LoginConfig) *Login {
	client := newClient()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // a code goes nowhere else
	return &Login{
		config: c, client: client, slots: make(chan struct{}, maxAsking),
		issuer: NewIssuer(IssuerConfig{Issuer: c.Issuer, Audience: c.ClientID, Log: c.Log, login: &c}),
	}
}

// Host is the issuer's, for people.
func (l *Login) Host() string {
	u, err := url.Parse(l.config.Issuer)
	if err != nil {
		return l.config.Issuer
	}
	return u.Host
}

// Run keeps what is known of the issuer fresh until ctx ends.
func (l *Login) Run(ctx context.Context) {
	defer l.client.CloseIdleConnections()
	l.issuer.Run(ctx)
}

// Fault says why nobody can sign in; empty: people can.
func (l *Login) Fault() string { return l.issuer.Fault() }

// known is what the issuer says of itself.
func (l *Login) known(ctx context.Context) (metadata, error) {
	k := l.issuer.fresh()
	if k == nil && l.issuer.renewed(ctx, nil) {
		k = l.issuer.fresh()
	}
	if k == nil {
		return metadata{}, fmt.Errorf("%w: %s", ErrUnavailable, l.Fault())
	}
	return k.metadata, nil
}

func (l *Login) flow(m metadata) *oauth2.Config {
	style := oauth2.AuthStyleInHeader // OpenID Connect Discovery 1.0, 3: the default
	if l.config.ClientSecret == "" || !m.basic {
		style = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: l.config.ClientID, ClientSecret: l.config.ClientSecret, RedirectURL: l.config.Callback, Scopes: l.config.Scopes,
		Endpoint: oauth2.Endpoint{AuthURL: m.authorize, TokenURL: m.token, AuthStyle: style},
	}
}

// Begin returns where the browser is to go.
func (l *Login) Begin(ctx context.Context) (to string, a Attempt, err error) {
	m, err := l.known(ctx)
	if err != nil {
		return "", Attempt{}, err
	}
	a = Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
	return l.flow(m).AuthCodeURL(a.State, oauth2.S256ChallengeOption(a.Verifier), oauth2.SetAuthURLParam("nonce", a.Nonce)), a, nil
}

// Finish says who has signed in, from what the browser came back with. The error is
// one of the above.
func (l *Login) Finish(ctx context.Context, a Attempt, query string) (tool.Principal, error) {
	m, err := l.known(ctx)
	if err != nil {
		return tool.Principal{}, err
	}
	code, err := readCallback(query, a, m)
	if err != nil {
		return tool.Principal{}, err
	}
	token, err := l.exchange(ctx, m, a, code)
	if err != nil {
		return tool.Principal{}, err
	}
	id, _ := token.Extra("id_token").(string)
	if id == "" || len(id) > maxToken {
		return tool.Principal{}, fmt.Errorf("%w: there is no ID token, or it has more than %d bytes", ErrInvalid, maxToken)
	}
	c, err := l.issuer.Verify(ctx, id)
	if err != nil {
		return tool.Principal{}, err
	}
	granted, _ := token.Extra("scope").(string)
	c, err = l.person(c, a, granted)
	return c.principal(), err
}

// readCallback takes the code out of what the browser came back with.
func readCallback(query string, a Attempt, m metadata) (code string, err error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return "", fmt.Errorf("%w: it cannot be read", ErrForeign)
	}
	for _, name := range []string{"state", "iss", "code", "error"} {
		if len(values[name]) > 1 {
			return "", fmt.Errorf("%w: %s is there twice", ErrForeign, name)
		}
	}
	if a.State == "" || subtle.ConstantTimeCompare([]byte(values.Get("state")), []byte(a.State)) != 1 {
		return "", fmt.Errorf("%w: its state is another", ErrForeign)
	}
	// RFC 9207: what another issuer answers is not taken to this one.
	if said := values.Get("iss"); said != m.issuer && (values.Has("iss") || m.saysIssuer) {
		return "", fmt.Errorf("%w: it is of the issuer %.256q", ErrForeign, said)
	}
	if values.Has("error") {
		return "", fmt.Errorf("%w: it says %.64q", ErrDeclined, values.Get("error"))
	}
	if code = values.Get("code"); code == "" {
		return "", fmt.Errorf("%w: it has no code", ErrForeign)
	}
	return code, nil
}

// exchange asks for the tokens of a code.
func (l *Login) exchange(ctx context.Context, m metadata, a Attempt, code string) (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: too many sign in at once", ErrUnavailable)
	}
	token, err := l.flow(m).Exchange(context.WithValue(ctx, oauth2.HTTPClient, l.client), code, oauth2.VerifierOption(a.Verifier))
	if err == nil {
		return token, nil
	}
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok { // which repeats all that was answered
		status := 0
		if answer.Response != nil {
			status = answer.Response.StatusCode
		}
		if answer.ErrorCode == "invalid_grant" {
			return nil, fmt.Errorf("%w: %w", ErrSpent, &statusError{status})
		}
		return nil, fmt.Errorf("%w: %s: %w, %.64q", ErrUnavailable, m.token, &statusError{status}, answer.ErrorCode)
	}
	if inner, ok := errors.AsType[*url.Error](err); ok {
		err = inner.Err
	}
	return nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, m.token, err)
}

// person is who an ID token is about (OpenID Connect Core 1.0, 3.1.3.7). Its signature,
// issuer, audience and times were checked. granted is what scopes the answer says
// beside it: without a word there are none of them, whatever was asked for.
func (l *Login) person(c Claims, a Attempt, granted string) (Claims, error) {
	var m members
	if err := json.Unmarshal(c.Rest.Bytes(), &m); err != nil {
		return Claims{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	audience, _ := m.texts("aud")
	_, azp := m["azp"]
	switch {
	case a.Nonce == "" || subtle.ConstantTimeCompare([]byte(m.text("nonce")), []byte(a.Nonce)) != 1:
		return Claims{}, fmt.Errorf("%w: the ID token has another nonce", ErrInvalid)
	case c.Subject == "":
		return Claims{}, fmt.Errorf("%w: the ID token names nobody", ErrInvalid)
	case (azp || len(audience) > 1) && m.text("azp") != l.config.ClientID:
		return Claims{}, fmt.Errorf("%w: the ID token was made for another client", ErrInvalid)
	}
	c.ClientID = l.config.ClientID
	c.Scopes = append(slices.Clone(c.Scopes), strings.Fields(granted)...)
	if len(c.Scopes) > maxScopes {
		return Claims{}, fmt.Errorf("%w: there are more than %d scopes", ErrInvalid, maxScopes)
	}
	for _, own := range []string{"nonce", "at_hash", "c_hash"} { // the next token's are others
		delete(m, own)
	}
	rest, err := json.Marshal(m)
	if err == nil {
		c.Rest, err = tool.ParseJSON(rest)
	}
	if err != nil {
		return Claims{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return c, nil
}
