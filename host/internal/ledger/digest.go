// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"sync"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Keyer makes what the ledger shows in place of a digest of arguments: equal
// arguments have equal digests, and only who has the key can try out what they were.
// It is safe for concurrent use.
type Keyer struct{ idle sync.Pool } // of *mac: making one costs more than using it

type mac struct {
	hash.Hash
	sum [sha256.Size]byte
}

// NewKeyer returns one with a key.
func NewKeyer(key []byte) *Keyer {
	return &Keyer{sync.Pool{New: func() any { return &mac{Hash: hmac.New(sha256.New, key)} }}}
}

// Digest is the HMAC-SHA256 of d. The zero digest, of nothing, stays zero.
func (k *Keyer) Digest(d tool.Digest) tool.Digest {
	if d.IsZero() {
		return d
	}
	m := k.idle.Get().(*mac) //nolint:forcetypeassert // it holds nothing else
	defer k.idle.Put(m)
	m.Reset()
	m.sum = d                // written from there, since what goes through an interface is on the heap
	_, _ = m.Write(m.sum[:]) // never fails
	m.Sum(m.sum[:0])
	return m.sum
}
