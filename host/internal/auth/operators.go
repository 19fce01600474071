// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Operators tells which requests are an operator's: of who holds the operator
// token, and of bearers of the scope. Nobody else is one, and least of all
// somebody without a name.
type Operators struct {
	// Door knows the other tokens; nil: there are none.
	Door *Door
	// Holder is who holds the operator token.
	Holder tool.Principal

	token [sha256.Size]byte
}

// NewOperators returns operators of whom one holds a token.
func NewOperators(door *Door, holder tool.Principal, token string) *Operators {
	return &Operators{Door: door, Holder: holder, token: sha256.Sum256([]byte(token))}
}

// holds reports whether a text is the operator token.
func (o *Operators) holds(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], o.token[:]) == 1
}

// Fingerprint tells one operator token from the next, and not what it is.
func (o *Operators) Fingerprint() string { return hex.EncodeToString(o.token[:8]) }

// Identify says which operator sends a request; the refusal, if not nil, why
// nobody does who is one. It says the same whatever is asked for.
func (o *Operators) Identify(r *http.Request) (Caller, *Refusal) {
	if r.URL.Query().Has("access_token") {
		return Caller{}, inURL()
	}
	token, sent, ok := bearer(r.Header)
	switch {
	case !sent:
		return Caller{}, &Refusal{
			Status: http.StatusUnauthorized, Code: codeUnauthorized, Challenge: challenge,
			Text: "an operator's token is needed; send it as Authorization: Bearer <token>",
		}
	case !ok:
		return Caller{}, malformed()
	case o.holds(token):
		return Caller{Principal: o.Holder}, nil
	case o.Door == nil || o.Door.Verifier == nil:
		return Caller{}, unknown()
	}
	who, refused := o.Door.Identify(r)
	if refused != nil {
		return Caller{}, refused
	}
	if o.Door.Names != nil && o.Door.Names.chosen {
		return Caller{}, &Refusal{
			Status: http.StatusForbidden, Code: "not-operator",
			Text: "where http.auth.principal names callers by their headers or address, one could ask under one name and decide under another; " +
				"the operator token is needed",
		}
	}
	if !who.Operates() {
		return Caller{}, &Refusal{
			Status: http.StatusForbidden, Code: "not-operator",
			Text:      "only operators may do this: a token with the scope " + tool.ScopeOperate + " is needed",
			Challenge: challenge + `, error="insufficient_scope", scope="` + tool.ScopeOperate + `"`,
		}
	}
	return who, nil
}

// Has reports whether an operator sends a request.
func (o *Operators) Has(r *http.Request) bool {
	_, refused := o.Identify(r)
	return refused == nil
}

// ParseOperatorToken reads the file of the operator token.
func ParseOperatorToken(content []byte) (string, error) {
	token := strings.TrimSpace(string(content))
	if len(token) < minOperatorToken || len(token) > maxToken || strings.ContainsFunc(token, outside) {
		return "", errors.New("it holds no token; remove it, and a new one is made")
	}
	return token, nil
}

// minOperatorToken is the shortest operator token, in characters: one that a
// person has thought up can be found by trying.
const minOperatorToken = 32
