// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import "github.com/toolwharf/toolwharf/host/internal/tool"

// Head is the newest link of one host instance's chain: what a row's hash
// stands for, and so everything before it.
type Head struct {
	// Host is the host instance.
	Host string
	// N counts the rows of this host from 1; 0 is a chain without rows.
	N int64
	// Hash is of the N-th row and of the hash before it.
	Hash tool.Digest
}

// Checkpoint is a head that its host has signed, with the heads of the other
// hosts on the same store as it knew them: chains anchor each other, so that
// one cannot be cut without the others telling.
type Checkpoint struct {
	Head

	// Anchors are the heads of other hosts, sorted by host.
	Anchors []Head
	// Time is the store's, in microseconds since 1970.
	Time int64
	// Key names the signing key: the first 16 hex digits of the SHA-256 of the
	// public key.
	Key string
	// Signature is Ed25519 over all of the above.
	Signature []byte
}
