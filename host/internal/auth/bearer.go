// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"net/http"
	"strings"
)

// maxToken is the longest token that is looked at, in bytes: some issuers write all
// groups of a user into one.
const maxToken = 16 << 10

// bearer reads the one token of a request (RFC 6750, 2.1). sent says that there
// is an Authorization header at all, ok that it holds a token.
func bearer(h http.Header) (token string, sent, ok bool) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", false, false
	}
	if len(values) > 1 { // which of them was meant cannot be told
		return "", true, false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.Trim(token, " ")
	ok = strings.EqualFold(scheme, "Bearer") && token != "" && len(token) <= maxToken && !strings.ContainsFunc(token, outside)
	return token, true, ok
}

// outside reports whether a character cannot be part of a token (RFC 6750,
// b64token).
func outside(c rune) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return false
	default:
		return !strings.ContainsRune("-._~+/=", c)
	}
}
