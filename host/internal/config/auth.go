// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

// auth refuses half an authentication: each of these would check no token, or
// accept tokens that were meant for another service.
func (c checker) auth() {
	a := c.cfg.HTTP.Auth
	if a == nil {
		return
	}
	at := func(key string) []string { return []string{"http", "auth", key} }
	if a.Issuer == "" {
		for _, key := range []string{"jwks", "introspection", "audience"} {
			if c.has(at(key)...) {
				c.refuse(at(key), "add http.auth.issuer", "is incomplete without an issuer")
			}
		}
	} else if a.Audience == "" {
		c.refuse(at("issuer"), "add http.auth.audience", "is incomplete without an audience: tokens for other services would be accepted")
	}
	if a.Issuer == "" && len(a.Tokens) == 0 && !c.has(at("jwks")...) && !c.has(at("introspection")...) && !c.has(at("audience")...) {
		c.refuse([]string{"http", "auth"}, "add tokens, or issuer and audience", "authenticates nobody")
	}
}
