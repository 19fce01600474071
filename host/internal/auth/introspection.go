// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// How long a refusal of an issuer is good for, at most, and how many of its answers
// are kept.
const (
	inactiveFor = 10 * time.Second
	maxKept     = 4096
	// maxKeptSize bounds what the kept ones say, in bytes of all together.
	maxKeptSize = 16 << 20
)

// IntrospectionConfig says how an issuer is asked about tokens.
type IntrospectionConfig struct {
	// Issuer is its name, Audience what a token must be meant for.
	Issuer, Audience string
	// URL is where it is asked, ClientID and ClientSecret as whom.
	URL, ClientID, ClientSecret string
	// Opaque: it is not asked about JWTs.
	Opaque bool
	// Cache is how long an answer is good for, at most. A token that is revoked is
	// good for so long.
	Cache time.Duration
	Log   *slog.Logger
}

// Introspection knows tokens by asking their issuer about them (RFC 7662).
type Introspection struct {
	config IntrospectionConfig
	client *http.Client
	flight singleflight.Group
	slots  chan struct{}

	mu               sync.Mutex
	active, inactive answers
	fault            string
}

var _ Verifier = (*Introspection)(nil)

// NewIntrospection asks a URL that must be good (CheckURL).
func NewIntrospection(c IntrospectionConfig) *Introspection {
	return &Introspection{config: c, client: newClient(), slots: make(chan struct{}, maxAsking)}
}

// answers are kept by what they are about: its hash, for a token has no business
// in memory for longer than its request.
type answers struct {
	of   map[[sha256.Size]byte]kept
	size int
}

// kept is what was said of one token.
type kept struct {
	claims Claims
	until  time.Time
}

func (a *answers) find(key [sha256.Size]byte, now time.Time) (Claims, bool) {
	k, ok := a.of[key]
	return k.claims, ok && now.Before(k.until)
}

// keep keeps an answer. If there are too many, all are forgotten, and each token
// asked about again.
func (a *answers) keep(key [sha256.Size]byte, k kept) {
	if a.of == nil || len(a.of) >= maxKept || a.size > maxKeptSize {
		a.of, a.size = map[[sha256.Size]byte]kept{}, 0
	}
	a.of[key] = k
	a.size += len(k.claims.Rest.Bytes())
}

// Close closes the connections that nothing is asked by.
func (n *Introspection) Close() { n.client.CloseIdleConnections() }

// Fault says why tokens cannot be asked about; empty: they can.
func (n *Introspection) Fault() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.fault
}

// Verify asks about a token, unless that was done a moment ago. Who asks about the
// same token meanwhile waits for the same answer.
func (n *Introspection) Verify(ctx context.Context, token string) (Claims, error) {
	if strings.HasPrefix(token, prefixToken) { // one of ours that is none is nobody else's business
		return Claims{}, ErrInvalid
	}
	if _, _, err := parts(token); err == nil && n.config.Opaque {
		return Claims{}, ErrInvalid
	}
	key := sha256.Sum256([]byte(token))
	n.mu.Lock()
	c, ok := n.active.find(key, time.Now())
	_, refused := n.inactive.find(key, time.Now())
	n.mu.Unlock()
	switch {
	case ok:
		return c, nil
	case refused:
		return Claims{}, ErrInvalid
	}
	done := n.flight.DoChan(string(key[:]), func() (any, error) {
		return n.asked(context.WithoutCancel(ctx), key, token) // others wait for it too
	})
	select {
	case r := <-done:
		c, _ = r.Val.(Claims)
		return c, r.Err
	case <-ctx.Done():
		return Claims{}, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
}

// asked asks, and keeps the answer.
func (n *Introspection) asked(ctx context.Context, key [sha256.Size]byte, token string) (Claims, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	select {
	case n.slots <- struct{}{}:
		defer func() { <-n.slots }()
	case <-ctx.Done():
		return Claims{}, fmt.Errorf("%w: too many are asked about at once", ErrUnavailable)
	}
	body, err := n.ask(ctx, token)
	n.told(err)
	if err != nil {
		return Claims{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	now := time.Now()
	c, err := readIntrospection(body, n.config.Issuer, n.config.Audience, now)
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		n.inactive.keep(key, kept{until: now.Add(min(inactiveFor, n.config.Cache))})
		return Claims{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	c.Fresh = now.Add(n.config.Cache)
	if !c.Expires.IsZero() && c.Expires.Before(c.Fresh) {
		c.Fresh = c.Expires
	}
	n.active.keep(key, kept{c, c.Fresh})
	return c, nil
}

func (n *Introspection) ask(ctx context.Context, token string) ([]byte, error) {
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.config.URL, strings.NewReader(form.Encode())) //nolint:gosec // the operator's URL
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if n.config.ClientID != "" { // RFC 6749, 2.3.1
		r.SetBasicAuth(url.QueryEscape(n.config.ClientID), url.QueryEscape(n.config.ClientSecret))
	}
	return ask(n.client, r)
}

// told says in the log when it stops or begins to work.
func (n *Introspection) told(err error) {
	fault := ""
	if err != nil {
		fault = fmt.Sprintf("introspection at %s: %v", n.config.URL, err)
	}
	n.mu.Lock()
	before := n.fault
	n.fault = fault
	n.mu.Unlock()
	switch {
	case fault == before:
	case fault != "":
		n.config.Log.Error("the issuer cannot be asked about tokens, and their bearers are refused", "error", fault)
	default:
		n.config.Log.Info("the issuer can be asked about tokens again", "url", n.config.URL)
	}
}

// readIntrospection reads what an issuer says of a token. It must be meant for the
// audience: the issuer knows tokens for other services too.
func readIntrospection(body []byte, issuer, audience string, now time.Time) (Claims, error) {
	var m members
	if json.Unmarshal(body, &m) != nil {
		return Claims{}, errors.New("the answer is no JSON object")
	}
	if string(m["active"]) != "true" {
		return Claims{}, errors.New("the issuer says that it is not active")
	}
	if said := m.text("iss"); said != "" && said != issuer {
		if strings.TrimSuffix(said, "/") != strings.TrimSuffix(issuer, "/") {
			return Claims{}, errors.New("it is of another issuer")
		}
		issuer = said
	}
	if aud, ok := m.texts("aud"); !ok || !slices.Contains(aud, audience) {
		return Claims{}, errors.New("it is not for this audience")
	}
	if kind := m.text("token_type"); kind != "" && !strings.EqualFold(kind, "Bearer") {
		return Claims{}, errors.New("it is no bearer token")
	}
	for _, name := range []string{"exp", "nbf"} {
		if _, there := m[name]; there && m.time(name).IsZero() {
			return Claims{}, fmt.Errorf("%s is no time", name)
		}
	}
	if ends := m.time("exp"); !ends.IsZero() && now.After(ends.Add(skew)) {
		return Claims{}, errors.New("it has expired")
	}
	if begins := m.time("nbf"); !begins.IsZero() && now.Before(begins.Add(-skew)) {
		return Claims{}, errors.New("it is not good yet")
	}
	return read(body, issuer)
}
