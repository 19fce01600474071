// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/cenkalti/backoff/v5"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Times of an issuer's keys.
const (
	// refreshEvery is how often they are fetched anew: a key that the issuer has
	// withdrawn is good for at most so long.
	refreshEvery = 15 * time.Minute
	// stale is how long they are used while the issuer cannot be reached.
	stale = 24 * time.Hour
	// askAgainAfter is how often tokens may make the host look for a new key, some of
	// them at once, and retryAtMost how long it waits between attempts to reach an
	// issuer.
	askAgainAfter = 10 * time.Second
	askAgainBurst = 4
	retryAtMost   = 30 * time.Second
	// skew is how far the issuer's clock may be from ours.
	skew = 30 * time.Second
)

// algorithms are how tokens may be signed: with a key of which the issuer alone
// has the private half.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// IssuerConfig is what is known of an issuer beforehand.
type IssuerConfig struct {
	// Issuer is its URL.
	Issuer string
	// Audience is what a token must be meant for.
	Audience string
	// JWKS is where its keys are; empty: where its metadata says.
	JWKS string
	Log  *slog.Logger

	// login, if not nil, is that of which its ID tokens are.
	login *LoginConfig
}

// Issuer knows the JWTs of an authorization server (RFC 9068, RFC 8725). It
// fetches its keys by itself while Run runs, and when a token names one that it
// does not know.
type Issuer struct {
	config IssuerConfig
	client *http.Client
	known  atomic.Pointer[keys]
	flight singleflight.Group
	asked  *rate.Limiter
	ended  context.Context //nolint:containedctx // when Run ends, whatever is fetched then
	end    context.CancelFunc

	mu    sync.Mutex
	fault string
}

// keys are an issuer's, as they were at some time.
type keys struct {
	metadata

	find keyfunc.Keyfunc
	at   time.Time
}

var _ Verifier = (*Issuer)(nil)

// NewIssuer returns an issuer of which nothing is known yet. Its URLs must be
// good (CheckURL).
func NewIssuer(c IssuerConfig) *Issuer {
	i := &Issuer{config: c, client: newClient(), asked: rate.NewLimiter(rate.Every(askAgainAfter), askAgainBurst)}
	i.ended, i.end = context.WithCancel(context.Background())
	return i
}

// Run keeps the keys fresh until ctx ends. Nothing is fetched after that.
func (i *Issuer) Run(ctx context.Context) {
	defer i.client.CloseIdleConnections()
	defer i.end()
	defer context.AfterFunc(ctx, i.end)()
	pause := backoff.NewExponentialBackOff()
	pause.MaxInterval = retryAtMost
	for {
		wait := refreshEvery
		if _, err, _ := i.flight.Do("", func() (any, error) { return nil, i.fetch() }); err != nil {
			wait = pause.NextBackOff()
		} else {
			pause.Reset()
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// Fault says why its tokens cannot be checked, or soon no more; empty: they can.
func (i *Issuer) Fault() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fault
}

// Verify checks a JWT.
func (i *Issuer) Verify(ctx context.Context, token string) (Claims, error) {
	if err := i.ours(token); err != nil {
		return Claims{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	for again := false; ; again = true {
		now := i.fresh()
		var err error
		if now != nil {
			var c Claims
			if c, err = i.check(now, token); err == nil || !errors.Is(err, errKey) {
				return c, err
			}
		}
		if again || !i.renewed(ctx, now) {
			if i.fresh() == nil {
				return Claims{}, fmt.Errorf("%w: %s", ErrUnavailable, i.Fault())
			}
			return Claims{}, err
		}
	}
}

// fresh are the keys, if they are not too old to go by.
func (i *Issuer) fresh() *keys {
	if k := i.known.Load(); k != nil && time.Since(k.at) < stale {
		return k
	}
	return nil
}

// renewed looks for new keys, not too often, and reports whether there are others
// than before.
func (i *Issuer) renewed(ctx context.Context, before *keys) bool {
	if i.fresh() != before {
		return true
	}
	done := i.flight.DoChan("", func() (any, error) {
		if !i.asked.Allow() {
			return nil, errors.New("too soon")
		}
		return nil, i.fetch() // others wait for it too
	})
	select {
	case <-done:
	case <-ctx.Done():
	}
	return i.fresh() != before
}

// fetch fetches metadata and keys. If that fails, those that are there stay.
func (i *Issuer) fetch() error {
	ctx, cancel := context.WithTimeout(i.ended, 2*askTime)
	defer cancel()
	k, err := i.fetched(ctx)
	if i.ended.Err() != nil {
		return i.ended.Err()
	}
	fault := ""
	if err != nil {
		fault = fmt.Sprintf("issuer %s: %v", i.config.Issuer, err)
	} else {
		i.known.Store(k)
	}
	i.mu.Lock()
	before := i.fault
	i.fault = fault
	i.mu.Unlock()
	switch {
	case fault == before:
	case fault != "" && i.fresh() != nil:
		i.config.Log.Warn("keys of the issuer cannot be renewed; tokens are checked with those that are known", "error", fault)
	case fault != "" && i.config.login != nil:
		i.config.Log.Error("nobody can sign in at the issuer; it is tried again", "error", fault)
	case fault != "":
		i.config.Log.Error("tokens cannot be checked, and their bearers are refused; it is tried again", "error", fault)
	default:
		i.config.Log.Info("keys of the issuer are known again", "issuer", i.config.Issuer)
	}
	return err
}

func (i *Issuer) fetched(ctx context.Context) (*keys, error) {
	m := metadata{issuer: i.config.Issuer, jwks: i.config.JWKS}
	if m.jwks == "" {
		var err error
		if m, err = discover(ctx, i.client, i.config.Issuer); err != nil {
			return nil, err
		}
	}
	if i.config.login != nil {
		if err := m.signsIn(i.config.login.Pairwise); err != nil {
			return nil, err
		}
	}
	at := time.Now()
	body, err := get(ctx, i.client, m.jwks)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.jwks, err)
	}
	find, err := readKeys(body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.jwks, err)
	}
	return &keys{metadata: m, find: find, at: at}, nil
}

// errKey is a token whose key is not known.
var errKey = fmt.Errorf("%w: no key of the issuer has signed it", ErrInvalid)

// ours says why a token is none that this issuer could have made, before anything
// is done for it; nothing of it is proven.
func (i *Issuer) ours(token string) error {
	header, payload, err := parts(token)
	if err != nil {
		return err
	}
	var h, p members
	if json.Unmarshal(header, &h) != nil || json.Unmarshal(payload, &p) != nil {
		return errors.New("it is no JWT")
	}
	if !slices.Contains(algorithms, h.text("alg")) {
		return fmt.Errorf("its algorithm is none of %s", strings.Join(algorithms, ", "))
	}
	if _, there := h["crit"]; there {
		return errors.New("its header has crit, of which nothing is known here")
	}
	if kind, there := h["typ"]; there {
		switch typ := h.text("typ"); {
		case i.config.login == nil && !isAccessToken(typ):
			return fmt.Errorf("it is no access token: its typ is %.40s", kind)
		case i.config.login != nil && !strings.EqualFold(typ, "JWT"):
			return fmt.Errorf("it is no ID token: its typ is %.40s", kind)
		}
	}
	if strings.TrimSuffix(p.text("iss"), "/") != strings.TrimSuffix(i.config.Issuer, "/") {
		return errors.New("it is of another issuer")
	}
	return nil
}

// isAccessToken reports whether a typ is that of an access token (RFC 9068, 2.1) or
// says no more than that it is a JWT (RFC 7519, 5.1).
func isAccessToken(typ string) bool {
	switch strings.TrimPrefix(strings.ToLower(typ), "application/") {
	case "jwt", "at+jwt":
		return true
	default:
		return false
	}
}

// parts are the header and the payload of a JWT. Each has every name once: two
// readers of it see the same.
func parts(token string) (header, payload []byte, err error) {
	pieces := strings.Split(token, ".")
	if len(pieces) != 3 {
		return nil, nil, errors.New("it is no JWT")
	}
	for i, to := range []*[]byte{&header, &payload} {
		raw, err := base64.RawURLEncoding.Strict().DecodeString(pieces[i])
		if err != nil {
			return nil, nil, errors.New("it is no JWT")
		}
		if _, err := tool.ParseJSON(raw); err != nil {
			return nil, nil, fmt.Errorf("it is no JWT: %w", err)
		}
		*to = raw
	}
	return header, payload, nil
}

// check checks a token with keys.
func (i *Issuer) check(k *keys, token string) (Claims, error) {
	t, err := jwt.NewParser(
		jwt.WithValidMethods(algorithms), jwt.WithIssuer(k.issuer), jwt.WithAudience(i.config.Audience),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(skew), jwt.WithStrictDecoding(),
	).Parse(token, k.find.Keyfunc)
	switch {
	case errors.Is(err, jwkset.ErrKeyNotFound):
		return Claims{}, errKey
	case errors.Is(err, jwt.ErrTokenSignatureInvalid) && t != nil && t.Header["kid"] == nil:
		return Claims{}, errKey
	case err != nil:
		return Claims{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	_, payload, err := parts(token)
	if err != nil {
		return Claims{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	c, err := read(payload, k.issuer)
	if err != nil {
		return Claims{}, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return c, nil
}
