// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/auth"
)

// maxIntrospected is how long the answer about a token may be taken for true: so
// long a revoked one lets in.
const maxIntrospected = time.Hour

// authenticates reports whether callers have to prove who they are. The
// expression that names them proves nothing.
func (a *Auth) authenticates() bool { return a != nil && (a.Issuer != "" || len(a.Tokens) > 0) }

// auth refuses half an authentication: each of these would check no token, or
// accept tokens that were meant for another service.
func (c checker) auth() {
	a := c.cfg.HTTP.Auth
	if a == nil {
		return
	}
	at := func(key string) []string { return []string{"http", "auth", key} }
	if a.Issuer == "" {
		for _, key := range []string{"jwks", "introspection", "audience", "login"} {
			if c.has(at(key)...) {
				c.refuse(at(key), "add http.auth.issuer", "is incomplete without an issuer")
			}
		}
	} else if a.Audience == "" {
		c.refuse(at("issuer"), "add http.auth.audience", "is incomplete without an audience: tokens for other services would be accepted")
	}
	if !a.authenticates() && a.Principal == "" && !c.has(at("jwks")...) && !c.has(at("introspection")...) && !c.has(at("audience")...) && a.Login == nil {
		c.refuse([]string{"http", "auth"}, "add tokens", "authenticates nobody")
	}
	if i := a.Introspection; i != nil {
		if err := auth.CheckURL(i.URL); err != nil {
			c.refuse(append(at("introspection"), "url"), "", "%v", err)
		}
		if i.ClientSecret != "" && i.ClientID == "" {
			c.refuse(append(at("introspection"), "client_secret"), "add client_id", "is no good without client_id")
		}
		if i.Cache < time.Second || i.Cache > maxIntrospected {
			c.refuse(append(at("introspection"), "cache"), "", "must be 1s to 1h")
		}
	}
	for key, value := range map[string]string{"issuer": a.Issuer, "jwks": a.JWKS} {
		if value == "" {
			continue
		}
		if err := auth.CheckURL(value); err != nil {
			c.refuse(at(key), "", "%v", err)
		}
	}
	if strings.Contains(a.Issuer, "?") { // RFC 8414, 2
		c.refuse(at("issuer"), "", "must not have a query")
	}
	if a.Principal != "" {
		if _, err := auth.NewNames(a.Principal); err != nil {
			c.refuse(at("principal"), "", "%v", err)
		}
	}
	c.login()
	c.tokens()
}

// login refuses one that nobody could use, or by which people could decide about
// their own calls.
func (c checker) login() {
	a, public := c.cfg.HTTP.Auth, c.cfg.HTTP.PublicURL
	if a.Login == nil {
		return
	}
	at := []string{"http", "auth", "login"}
	if public == "" {
		c.refuse(at, "add http.public_url", "needs http.public_url: the issuer sends people back there")
	} else if err := auth.CheckURL(public); err != nil {
		c.refuse([]string{"http", "public_url"}, "people sign in there, by http.auth.login", "%v", err)
	}
	if !slices.Contains(a.Login.Scopes, "openid") {
		c.refuse(append(at, "scopes"), "add openid", "lacks openid, without which the issuer says of nobody who it is")
	}
	if a.Principal != "" {
		c.refuse(at, "remove one of them", "does not go with http.auth.principal: somebody could ask under one name and decide under another")
	}
}

// tokens refuses one token that stands for two callers.
func (c checker) tokens() {
	first := map[string]int{}
	for i, t := range c.cfg.HTTP.Auth.Tokens {
		if before, taken := first[t.SHA256]; taken {
			c.refuse([]string{"http", "auth", "tokens", itoa(i), "sha256"}, "keep one of them", "repeats that of item %d", before)
			continue
		}
		first[t.SHA256] = i
	}
}
