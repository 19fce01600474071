// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

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

// What is hashed and signed begins with what it is, so that none of it can be
// taken for another.
const (
	domainLink       = "toolwharf/ledger/link/v1"
	domainCheckpoint = "toolwharf/ledger/checkpoint/v1"
	domainCut        = "toolwharf/ledger/cut/v1"
)

// Link returns the head of the chain of row.Host with row after prev; a zero
// Hash and N begin a chain. The hash is SHA-256 over the domain, the hash
// before, the host, N and every column of the row, Seq included, each framed by
// its length. It depends on nothing that a store does not keep: times count in
// microseconds, and what is empty is as if it were not there.
//
// It costs about a microsecond and, for rows with less than a KiB of text, no
// allocation.
func Link(prev Head, row *Row) Head {
	var room [2048]byte
	b := room[:0]
	b = appendText(b, domainLink)
	b = append(b, prev.Hash[:]...)
	b = appendText(b, row.Host)
	n := prev.N + 1
	b = appendNumber(b, n)
	b = appendRow(b, row)
	return Head{Host: row.Host, N: n, Hash: sha256.Sum256(b)}
}

// appendRow appends each column that is not empty under its name. A column that
// comes later changes no hash of a row that does not have it; the order is for
// ever.
func appendRow(b []byte, r *Row) []byte {
	c := columns(b)
	c = c.number("seq", r.Seq)
	c = c.text("host", r.Host)
	c = c.text("call", r.Call)
	c = c.text("run", r.Run)
	c = c.number("attempt", int64(r.Attempt))
	c = c.time("started", r.Started)
	c = c.time("ended", r.Ended)
	c = c.text("principal", r.Principal)
	c = c.text("op", string(r.Op))
	c = c.text("tool", r.Tool)
	c = c.text("adapter", r.Adapter)
	c = c.text("effects", string(r.Effects))
	c = c.digest("spec", r.Spec)
	c = c.digest("args", r.Args)
	c = c.digest("asked", r.Asked)
	c = c.text("approval", r.Approval)
	c = c.text("decided_by", r.DecidedBy)
	c = c.flag("late", r.Late)
	c = c.text("outcome", string(r.Outcome))
	c = c.text("gate", r.Gate)
	c = c.text("error_kind", string(r.Kind))
	c = c.text("error_code", r.Code)
	c = c.text("detail", r.Detail)
	c = c.text("ran", string(r.Ran))
	c = c.number("result_bytes", r.ResultBytes)
	c = c.text("cost", r.Cost)
	c = c.text("client", r.Client)
	c = c.text("protocol", r.Protocol)
	return c
}

// appendText appends s framed by its length.
func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
}

func appendNumber(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(n)) //nolint:gosec // its bits, whatever the sign
}

func appendHead(b []byte, h *Head) []byte {
	b = appendText(b, h.Host)
	b = appendNumber(b, h.N)
	return append(b, h.Hash[:]...)
}

func appendHeads(b []byte, heads []Head) []byte {
	b = appendNumber(b, int64(len(heads)))
	for i := range heads {
		b = appendHead(b, &heads[i])
	}
	return b
}
