// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"
)

// Signer signs heads for a host. It is safe for concurrent use.
type Signer struct {
	private ed25519.PrivateKey
	public  ed25519.PublicKey
	id      string
}

// NewSigner returns a signer with this key. LoadOrCreateSigner keeps one.
func NewSigner(private ed25519.PrivateKey) *Signer {
	public, _ := private.Public().(ed25519.PublicKey) // by its documentation
	return &Signer{private: private, public: public, id: KeyID(public)}
}

// Public is the key that a Verifier needs.
func (s *Signer) Public() ed25519.PublicKey { return slices.Clone(s.public) }

// Key is the id of the key: Checkpoint.Key.
func (s *Signer) Key() string { return s.id }

// Sign signs a head. Anchors are the heads of other hosts; that of the host
// itself and those of empty chains are left out. At is the store's time.
func (s *Signer) Sign(head Head, anchors []Head, at time.Time) Checkpoint {
	c := Checkpoint{
		Head: head, Time: at.UnixMicro(), Key: s.id,
		Anchors: sortedHeads(anchors, head.Host),
	}
	c.Signature = ed25519.Sign(s.private, c.signed())
	return c
}

// SignCut signs a cut. Its Key and Signature are set, its heads are sorted.
func (s *Signer) SignCut(c Cut) Cut {
	c.Key = s.id
	c.Heads, c.Anchors = sortedHeads(c.Heads, ""), sortedHeads(c.Anchors, "")
	c.Signature = ed25519.Sign(s.private, c.signed())
	return c
}

// sortedHeads copies heads, sorted by host, without empty chains and one host.
func sortedHeads(heads []Head, but string) []Head {
	if len(heads) == 0 {
		return nil
	}
	sorted := make([]Head, 0, len(heads))
	for _, h := range heads {
		if h.N > 0 && h.Host != but {
			sorted = append(sorted, h)
		}
	}
	slices.SortFunc(sorted, func(a, b Head) int { return cmp.Compare(a.Host, b.Host) })
	return sorted
}

// signed is what the signature covers.
func (c *Checkpoint) signed() []byte {
	b := appendText(nil, domainCheckpoint)
	b = appendHead(b, &c.Head)
	b = appendHeads(b, c.Anchors)
	b = appendNumber(b, c.Time)
	return appendText(b, c.Key)
}

func (c *Cut) signed() []byte {
	b := appendText(nil, domainCut)
	b = appendNumber(b, c.Seq)
	b = appendHeads(b, c.Heads)
	b = appendHeads(b, c.Anchors)
	b = appendText(b, c.By)
	b = appendNumber(b, c.Time)
	return appendText(b, c.Key)
}

// KeyID names a key: the first 16 hex digits of the SHA-256 of its 32 bytes.
func KeyID(public ed25519.PublicKey) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:8])
}

// What is wrong with a signature.
var (
	ErrUnknownKey   = errors.New("signed with a key that is not among those given")
	ErrBadSignature = errors.New("the signature is not of this content")
)

// Verifier judges signatures by public keys. It is safe for concurrent use; the
// zero Verifier knows no key.
type Verifier struct{ keys map[string]ed25519.PublicKey }

// NewVerifier returns a verifier that accepts what any of the keys has signed.
func NewVerifier(keys ...ed25519.PublicKey) *Verifier {
	v := &Verifier{keys: make(map[string]ed25519.PublicKey, len(keys))}
	for _, k := range keys {
		if len(k) == ed25519.PublicKeySize {
			v.keys[KeyID(k)] = slices.Clone(k)
		}
	}
	return v
}

// Keys returns the ids of the keys, sorted.
func (v *Verifier) Keys() []string {
	ids := make([]string, 0, len(v.keys))
	for id := range v.keys {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Checkpoint returns nil if c was signed by a known key, else ErrUnknownKey or
// ErrBadSignature.
func (v *Verifier) Checkpoint(c *Checkpoint) error { return v.verify(c.Key, c.signed(), c.Signature) }

// Cut returns the same of a cut.
func (v *Verifier) Cut(c *Cut) error { return v.verify(c.Key, c.signed(), c.Signature) }

func (v *Verifier) verify(id string, message, signature []byte) error {
	key, ok := v.keys[id]
	switch {
	case !ok:
		return ErrUnknownKey
	case len(signature) != ed25519.SignatureSize || !ed25519.Verify(key, message, signature):
		return ErrBadSignature
	default:
		return nil
	}
}
