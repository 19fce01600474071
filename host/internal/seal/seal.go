// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package seal closes state that travels through a client and comes back: the
// client can neither read nor change it, nor bring it to another host or after
// its time. That it is used once is the store's to say.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// MinKey is the shortest secret that states may be sealed with, in bytes.
	MinKey = 32
	// MaxState is the longest sealed state that is opened, in bytes of text.
	MaxState = 64 << 10

	version  = "v1."
	info     = "toolwharf/state/v1"
	overhead = 8 // of the time until which it is good
)

// ErrInvalid is a state that this host did not seal, that was changed, or that
// is for another purpose. Which of these is nobody's business.
var ErrInvalid = errors.New("invalid request state")

// ErrExpired is a state whose time is over.
var ErrExpired = errors.New("expired request state")

// Sealer seals and opens. It is safe for concurrent use.
type Sealer struct {
	audience string
	ciphers  []cipher.AEAD
}

// New returns a sealer for an audience: the host's name and its store's id, so
// that hosts that share a secret by accident do not take each other's states.
// The first secret seals, all of them open: that is how they are rotated.
func New(audience string, secrets ...[]byte) (*Sealer, error) {
	if len(secrets) == 0 {
		return nil, errors.New("no secret to seal states with")
	}
	s := &Sealer{audience: audience}
	for i, secret := range secrets {
		if len(secret) < MinKey {
			return nil, fmt.Errorf("secret %d for states has %d bytes, it needs %d or more", i+1, len(secret), MinKey)
		}
		key, err := hkdf.Key(sha256.New, secret, nil, info, 32) // RFC 5869
		if err != nil {
			return nil, fmt.Errorf("key for states: %w", err)
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("key for states: %w", err)
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, fmt.Errorf("key for states: %w", err)
		}
		s.ciphers = append(s.ciphers, aead)
	}
	return s, nil
}

// Seal closes payload for a purpose, good until a time (whole seconds).
func (s *Sealer) Seal(purpose string, payload []byte, until time.Time) string {
	plain := binary.BigEndian.AppendUint64(make([]byte, 0, overhead+len(payload)), uint64(until.Unix())) //nolint:gosec // after 1970
	plain = append(plain, payload...)
	return version + base64.RawURLEncoding.EncodeToString(
		s.ciphers[0].Seal(nil, nil, plain, s.bound(purpose))) //nolint:gosec // the cipher makes the nonce
}

// Open opens what Seal has closed for the same purpose, if it is good at now.
// The error is ErrInvalid or ErrExpired.
func (s *Sealer) Open(purpose, state string, now time.Time) ([]byte, error) {
	text, ok := strings.CutPrefix(state, version)
	if !ok || len(state) > MaxState {
		return nil, ErrInvalid
	}
	closed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, ErrInvalid
	}
	for _, c := range s.ciphers {
		plain, err := c.Open(nil, nil, closed, s.bound(purpose))
		if err != nil || len(plain) < overhead {
			continue
		}
		if until := int64(binary.BigEndian.Uint64(plain)); now.Unix() >= until { //nolint:gosec // as sealed
			return nil, ErrExpired
		}
		return plain[overhead:], nil
	}
	return nil, ErrInvalid
}

// bound is what a state is bound to: the parts are framed, so that none can
// imitate another.
func (s *Sealer) bound(purpose string) []byte {
	var b []byte
	for _, part := range []string{s.audience, purpose} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(part)))
		b = append(b, part...)
	}
	return b
}
