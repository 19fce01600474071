// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
)

var (
	// ErrInvalid is a token that a Verifier does not know.
	ErrInvalid = errors.New("unknown token")
	// ErrUnavailable is that a Verifier cannot tell at the moment.
	ErrUnavailable = errors.New("tokens cannot be checked")
)

// Verifiers are asked one after the other, until one of them knows the token or
// cannot tell.
type Verifiers []Verifier

var _ Verifier = Verifiers(nil)

// Verify is that of the first that knows the token.
func (v Verifiers) Verify(ctx context.Context, token string) (Claims, error) {
	err := ErrInvalid
	for _, one := range v {
		var c Claims
		if c, err = one.Verify(ctx, token); !errors.Is(err, ErrInvalid) {
			return c, err
		}
	}
	return Claims{}, err
}

// Tokens are fixed bearer tokens, known by their digests only.
type Tokens struct{ known []known }

type known struct {
	digest [sha256.Size]byte
	claims Claims
}

var _ Verifier = (*Tokens)(nil)

// Add adds a token by the SHA-256 of its text, in hexadecimal.
func (t *Tokens) Add(digest string, c Claims) error {
	b, err := hex.DecodeString(digest)
	if err != nil || len(b) != sha256.Size {
		return fmt.Errorf("the digest of client %q is not %d hexadecimal digits", c.ClientID, 2*sha256.Size)
	}
	t.known = append(t.known, known{[sha256.Size]byte(b), c})
	return nil
}

// Verify compares with every known digest, whatever comes of it: how long it
// takes says nothing about the token.
func (t *Tokens) Verify(_ context.Context, token string) (Claims, error) {
	digest := sha256.Sum256([]byte(token))
	found := -1
	for i := range t.known {
		if subtle.ConstantTimeCompare(t.known[i].digest[:], digest[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Claims{}, ErrInvalid
	}
	return t.known[found].claims, nil
}

// prefixToken marks tokens, so that people and scanners of leaked secrets know
// one when they see it.
const prefixToken = "twh_"

// NewToken returns a token of 32 random bytes and the SHA-256 by which a host
// knows it.
func NewToken() (token, digest string) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	token = prefixToken + base64.RawURLEncoding.EncodeToString(b[:])
	sum := sha256.Sum256([]byte(token))
	return token, hex.EncodeToString(sum[:])
}
