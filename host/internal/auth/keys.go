// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
)

const (
	// maxKeys is how many keys an issuer may have: a token that does not say which
	// one has signed it is tried with each.
	maxKeys = 64
	// minRSA is the shortest modulus, in bits (RFC 7518, 3.3).
	minRSA = 2048
)

// readKeys reads an issuer's keys (RFC 7517, 5). What is not for signatures, or
// not of a kind that tokens may be signed with, is left out; none at all is an
// error.
func readKeys(body []byte) (keyfunc.Keyfunc, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, errors.New("the answer is no set of keys")
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("there are %d keys, more than %d", len(set.Keys), maxKeys)
	}
	var keys []jwkset.JWK
	for _, raw := range set.Keys {
		// Without Private, shared secrets and private parts are not read.
		key, err := jwkset.NewJWKFromRawJSON(raw, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
		if err == nil && verifies(key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no key that tokens could be signed with")
	}
	storage := jwkset.NewMemoryStorage()
	if err := storage.KeyReplaceAll(context.Background(), keys); err != nil {
		return nil, err
	}
	return keyfunc.New(keyfunc.Options{Storage: storage})
}

// verifies reports whether tokens may be signed with a key.
func verifies(k jwkset.JWK) bool {
	if use := k.Marshal().USE; use != "" && use != jwkset.UseSig {
		return false
	}
	switch key := k.Key().(type) {
	case *rsa.PublicKey:
		return key.N.BitLen() >= minRSA
	case *ecdsa.PublicKey, ed25519.PublicKey:
		return true
	default:
		return false
	}
}
