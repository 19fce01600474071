// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// metadata is what an issuer says of itself (OpenID Connect Discovery 1.0, 3; RFC
// 8414, 2), as far as it is asked for.
type metadata struct {
	// issuer is what tokens name it: what was configured, or that with or without
	// a slash at its end.
	issuer string
	jwks   string
	// Where people sign in, and where codes are exchanged. They may be missing, or
	// no good: see signsIn.
	authorize, token string
	// basic: clients may say who they are in a header.
	basic bool
	// saysIssuer: its answers by way of a browser name it (RFC 9207).
	saysIssuer bool
	// pairwise: it gives one person another subject for each client.
	pairwise bool
}

// discover finds an issuer's metadata, in each place where it may lie.
func discover(ctx context.Context, c *http.Client, issuer string) (metadata, error) {
	var absent error
	for _, place := range places(issuer) {
		body, err := get(ctx, c, place)
		if err == nil {
			var m metadata
			if m, err = readMetadata(body, issuer); err == nil {
				return m, nil
			}
		}
		err = fmt.Errorf("%s: %w", place, err)
		if status, ok := errors.AsType[*statusError](err); !ok || status.status < 400 || status.status >= 500 {
			return metadata{}, err // it lies there, or nobody can tell
		}
		if absent == nil {
			absent = err
		}
	}
	return metadata{}, absent
}

// places are where metadata lies: below the issuer (OpenID Connect Discovery 1.0,
// 4), and between its host and its path (RFC 8414, 3.1 and 5).
func places(issuer string) []string {
	bare := strings.TrimSuffix(issuer, "/")
	below := bare + "/.well-known/openid-configuration"
	u, err := url.Parse(bare)
	if err != nil {
		return []string{below}
	}
	path := u.EscapedPath()
	at := func(name string) string { return u.Scheme + "://" + u.Host + "/.well-known/" + name + path }
	if path == "" {
		return []string{below, at("oauth-authorization-server")}
	}
	return []string{below, at("oauth-authorization-server"), at("openid-configuration")}
}

// readMetadata reads the metadata of an issuer. That of another one is an error:
// its tokens are not those that were meant (RFC 8414, 3.3).
func readMetadata(body []byte, issuer string) (metadata, error) {
	var said map[string]json.RawMessage // the members of a struct would match in any case
	if err := json.Unmarshal(body, &said); err != nil {
		return metadata{}, errors.New("the answer is no JSON object")
	}
	var m metadata
	if json.Unmarshal(said["issuer"], &m.issuer) != nil || m.issuer == "" {
		return metadata{}, errors.New("the answer names no issuer")
	}
	if strings.TrimSuffix(m.issuer, "/") != strings.TrimSuffix(issuer, "/") {
		return metadata{}, fmt.Errorf("the answer is that of the issuer %.256q", m.issuer)
	}
	if json.Unmarshal(said["jwks_uri"], &m.jwks) != nil || m.jwks == "" {
		return metadata{}, errors.New("the answer has no jwks_uri")
	}
	if err := CheckURL(m.jwks); err != nil {
		return metadata{}, fmt.Errorf("jwks_uri %w", err)
	}
	if strings.HasPrefix(m.jwks, "http:") && !strings.HasPrefix(issuer, "http:") {
		return metadata{}, errors.New("jwks_uri must be https, as the issuer is")
	}
	all := members(said)
	m.authorize, m.token = all.text("authorization_endpoint"), all.text("token_endpoint")
	methods, _ := all.texts("token_endpoint_auth_methods_supported")
	m.basic = len(methods) == 0 || slices.Contains(methods, "client_secret_basic")
	m.saysIssuer = string(said["authorization_response_iss_parameter_supported"]) == "true"
	subjects, _ := all.texts("subject_types_supported")
	m.pairwise = len(subjects) > 0 && !slices.Contains(subjects, "public")
	return m, nil
}

// signsIn says why nobody can sign in there; nil: people can. pairwise: subjects may
// be others for each client.
func (m metadata) signsIn(pairwise bool) error {
	for _, endpoint := range [][2]string{{"authorization_endpoint", m.authorize}, {"token_endpoint", m.token}} {
		name, at := endpoint[0], endpoint[1]
		if at == "" {
			return fmt.Errorf("the answer has no %s, which http.auth.login needs", name)
		}
		if err := CheckURL(at); err != nil {
			return fmt.Errorf("%s %w", name, err)
		}
		if strings.HasPrefix(at, "http:") && !strings.HasPrefix(m.issuer, "http:") {
			return fmt.Errorf("%s must be https, as the issuer is", name)
		}
	}
	if m.pairwise && !pairwise {
		return errors.New("it names one person otherwise to each client (subject_types_supported), so nobody could tell who decides about a call of their own; " +
			"remove http.auth.login, or let them by approval.self: true")
	}
	return nil
}
