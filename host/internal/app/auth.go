// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/toolwharf/toolwharf/host/internal/auth"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/face/approve"
	"github.com/toolwharf/toolwharf/host/internal/face/mcp"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/telemetry"
)

// entrance is where requests over HTTP say who they are from.
type entrance struct {
	door *auth.Door // nil: nobody asks
	// issuer knows tokens by its keys, asked by asking it about them. Each is nil
	// where that is not how it is done.
	issuer *auth.Issuer
	asked  *auth.Introspection
	login  *auth.Login // where people sign in; nil: nowhere
}

// newEntrance is that of a configuration.
func (h *Host) newEntrance() (entrance, error) {
	c := h.config.HTTP
	if c.Auth == nil {
		return entrance{}, nil
	}
	e := entrance{door: &auth.Door{Anonymous: c.AllowAnonymous != nil && *c.AllowAnonymous}}
	var verifiers auth.Verifiers
	var secrets []string
	if len(c.Auth.Tokens) > 0 {
		known, err := tokens(c.Auth.Tokens)
		if err != nil {
			return entrance{}, err
		}
		verifiers = append(verifiers, known)
	}
	if c.Auth.Issuer != "" && (c.Auth.Introspection == nil || c.Auth.JWKS != "") {
		e.issuer = auth.NewIssuer(auth.IssuerConfig{
			Issuer: c.Auth.Issuer, Audience: c.Auth.Audience, JWKS: c.Auth.JWKS, Log: telemetry.Slog(h.log.Named("auth")),
		})
		verifiers = append(verifiers, e.issuer)
	}
	if i := c.Auth.Introspection; i != nil {
		secret, err := h.expand("http.auth.introspection.client_secret", i.ClientSecret)
		if err != nil {
			return entrance{}, err
		}
		secrets = append(secrets, secret)
		e.asked = auth.NewIntrospection(auth.IntrospectionConfig{
			Issuer: c.Auth.Issuer, Audience: c.Auth.Audience, URL: i.URL, ClientID: i.ClientID, ClientSecret: secret,
			Opaque: e.issuer != nil, Cache: i.Cache, Log: telemetry.Slog(h.log.Named("auth")),
		})
		verifiers = append(verifiers, e.asked)
	}
	if l := c.Auth.Login; l != nil && !h.embedded { // whose page is not served
		secret, err := h.expand("http.auth.login.client_secret", l.ClientSecret)
		if err != nil {
			return entrance{}, err
		}
		secrets = append(secrets, secret)
		e.login = auth.NewLogin(auth.LoginConfig{
			Issuer: c.Auth.Issuer, ClientID: l.ClientID, ClientSecret: secret, Scopes: l.Scopes,
			Callback: approve.Callback(c.PublicURL), Pairwise: h.config.Approval.Self, Log: telemetry.Slog(h.log.Named("login")),
		})
	}
	if len(secrets) > 0 {
		h.redactor.SetHost(secrets)
	}
	if len(verifiers) > 0 {
		e.door.Verifier = verifiers
	}
	if c.Auth.Principal != "" {
		names, err := auth.NewNames(c.Auth.Principal)
		if err != nil {
			return entrance{}, fmt.Errorf("http.auth.principal: %w", err)
		}
		e.door.Names = names
	}
	return e, nil
}

// tokens are the fixed ones.
func tokens(list []config.Token) (*auth.Tokens, error) {
	known := &auth.Tokens{}
	for _, t := range list {
		if err := known.Add(t.SHA256, auth.Claims{ClientID: t.ClientID, Subject: t.Subject, Scopes: t.Scopes}); err != nil {
			return nil, fmt.Errorf("http.auth.tokens: %w", err)
		}
	}
	return known, nil
}

// identify lets requests in through the door; nil: nobody asks.
func (e entrance) identify() func(*http.Request) (auth.Caller, *auth.Refusal) {
	if e.door == nil {
		return nil
	}
	return e.door.Identify
}

// as tells MCP who calls.
func as(ctx context.Context, who auth.Caller) context.Context {
	return mcp.WithPrincipal(mcp.WithEnd(ctx, end(who)), who.Principal)
}

// end is until when a caller is known. One who comes back with other rights is
// somebody else.
func end(who auth.Caller) mcp.End {
	e := mcp.End{At: who.Until}
	if who.Again != nil {
		e.Renew = func(ctx context.Context) (mcp.End, bool) {
			now, refused := who.Again(ctx)
			return end(now), refused == nil && now.Standing() == who.Standing()
		}
	}
	return e
}

// close ends what was open to the issuer.
func (e entrance) close() {
	if e.asked != nil {
		e.asked.Close()
	}
}

// authenticates reports whether tokens are asked for.
func (e entrance) authenticates() bool { return e.door != nil && e.door.Verifier != nil }

// faults are why tokens cannot be checked.
func (e entrance) faults() []string {
	var list []string
	if e.issuer != nil && e.issuer.Fault() != "" {
		list = append(list, e.issuer.Fault())
	}
	if e.asked != nil && e.asked.Fault() != "" {
		list = append(list, e.asked.Fault())
	}
	if e.login != nil && e.login.Fault() != "" && !slices.Contains(list, e.login.Fault()) {
		list = append(list, e.login.Fault())
	}
	return list
}

// OperatorTokenPath is where the token of the operator lies.
func OperatorTokenPath(c *config.Config) string { return filepath.Join(c.State, "operator.token") }

// operators are who may decide over HTTP. The operator token is made if there is
// none.
func operators(c *config.Config, door *auth.Door) (*auth.Operators, error) {
	var token string
	path := OperatorTokenPath(c)
	err := ledger.LoadOrCreate(path, func() ([]byte, error) {
		fresh, _ := auth.NewToken()
		return []byte(fresh + "\n"), nil
	}, func(content []byte) (err error) {
		token, err = auth.ParseOperatorToken(content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("operator token %s: %w", path, err)
	}
	return auth.NewOperators(door, operator(), token), nil
}
