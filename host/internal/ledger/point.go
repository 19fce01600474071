// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// origin is who says that a chain had a certain hash at a certain link.
type origin byte

const (
	byHead       origin = iota // the host's newest signature
	byCheckpoint               // an older one
	byAnchor                   // another host
	byCut                      // retention, of the heads when it cut
	byUser                     // --expect-head
)

// point is one such statement, its signature already judged.
type point struct {
	n    int64
	hash tool.Digest
	time int64
	who  string
	from origin
}

func (p *point) String() string {
	at := time.UnixMicro(p.time).UTC().Format(timeFormat)
	switch p.from {
	case byHead:
		return "its head signed at " + at
	case byCheckpoint:
		return "its checkpoint signed at " + at
	case byAnchor:
		return "host " + show(p.who) + ", which signed at " + at + " what it saw of it,"
	case byCut:
		return "the cut of " + at
	case byUser:
		return "the expected head"
	default:
		return "?"
	}
}

// fault is what it is called when a chain does not have the point.
func (p *point) fault() Fault {
	switch p.from {
	case byAnchor, byCut:
		return Anchor
	case byUser:
		return RolledBack
	default:
		return Rewritten
	}
}

// points of all hosts.
type points map[string][]point

// add remembers a statement. An idle host is anchored again and again at the
// same link, which is remembered once.
func (p points) add(host string, at point) {
	list := p[host]
	if k := len(list); k > 0 && list[k-1].n == at.n && list[k-1].hash == at.hash && list[k-1].from <= at.from {
		return
	}
	p[host] = append(list, at)
}

func (p points) checkpoint(c *Checkpoint, from origin) {
	p.add(c.Host, point{n: c.N, hash: c.Hash, time: c.Time, who: c.Host, from: from})
	p.heads(c.Anchors, point{time: c.Time, who: c.Host, from: byAnchor})
}

func (p points) heads(heads []Head, as point) {
	for _, h := range heads {
		if h.N > 0 {
			as.n, as.hash = h.N, h.Hash
			p.add(h.Host, as)
		}
	}
}

func (p points) sort() {
	for _, list := range p {
		slices.SortStableFunc(list, func(a, b point) int {
			return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.from, b.from))
		})
	}
}

// String returns the head as host:n:hash, the hash in hex: what ParseHead reads.
func (h Head) String() string {
	return h.Host + ":" + strconv.FormatInt(h.N, 10) + ":" + hex.EncodeToString(h.Hash[:])
}

// MarshalText writes String.
func (h Head) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// ParseHead reads host:n:hash. The hash may be written with "sha256:" before it,
// as the ledger shows digests.
func ParseHead(s string) (Head, error) {
	host, rest, ok1 := strings.Cut(s, ":")
	number, hash, ok2 := strings.Cut(rest, ":")
	if !ok1 || !ok2 || host == "" {
		return Head{}, fmt.Errorf("%q is not host:n:hash", s)
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 {
		return Head{}, fmt.Errorf("%q: %q does not count rows from 1", s, number)
	}
	d, err := parseDigest(hash)
	if err != nil {
		return Head{}, fmt.Errorf("%q: %w", s, err)
	}
	return Head{Host: host, N: n, Hash: d}, nil
}

// parseDigest reads 64 hex digits, with or without "sha256:".
func parseDigest(s string) (d tool.Digest, err error) {
	b, err := hex.DecodeString(strings.TrimPrefix(s, "sha256:"))
	if err != nil || len(b) != len(d) {
		return d, errors.New("a hash has 64 hex digits")
	}
	return tool.Digest(b), nil
}
