// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// Prefixes of ids. What follows is 26 characters of RFC 4648 base32.
const (
	PrefixCall     = "call_"
	PrefixRun      = "run_"
	PrefixApproval = "apr_"
	PrefixTask     = "task_"
)

const idLength = 26

// NewID returns prefix and 130 bits of randomness: it can be counted on to be
// unique and cannot be guessed.
func NewID(prefix string) string { return prefix + rand.Text() }

// ScopedID derives an id from a principal and a key of that principal's own
// choice, so that two principals that choose the same key never share what it
// names.
func ScopedID(prefix string, p Principal, key string) string {
	text := make([]byte, 0, 512) // every call comes by here: what fits stays on the stack
	for _, part := range [...]string{"toolwharf/scoped-id/v1", prefix, p.String(), key} {
		text = binary.BigEndian.AppendUint64(text, uint64(len(part)))
		text = append(text, part...)
	}
	sum := sha256.Sum256(text)
	var id [56]byte // base32 of it, padded
	base32.StdEncoding.Encode(id[:], sum[:])
	return prefix + string(id[:idLength])
}

// IsID reports whether s has the form of an id with this prefix.
func IsID(prefix, s string) bool {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok || len(rest) != idLength {
		return false
	}
	for _, c := range rest {
		if (c < 'A' || c > 'Z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

// Digest is a SHA-256 hash.
type Digest [sha256.Size]byte

// DigestOf hashes b.
func DigestOf(b []byte) Digest { return sha256.Sum256(b) }

// String returns the digest as "sha256:" and 64 hex digits.
func (d Digest) String() string { return "sha256:" + hex.EncodeToString(d[:]) }

// IsZero reports whether the digest was never set.
func (d Digest) IsZero() bool { return d == Digest{} }
