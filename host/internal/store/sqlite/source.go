// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

var _ ledger.Source = (*Reader)(nil)

// Links yields the rows with a Seq greater than after as they are, the oldest
// first, up to the newest of the moment when it begins. An error is the last
// thing that it yields.
func (r *Reader) Links(ctx context.Context, after int64) iter.Seq2[ledger.LinkedRow, error] {
	return func(yield func(ledger.LinkedRow, error) bool) {
		newest, err := r.Newest(ctx)
		page := make([]ledger.LinkedRow, 0, pageRows)
		for err == nil {
			page = page[:0]
			err = r.use(ctx, func(conn *sqlite3.Conn) error {
				return each(conn, "SELECT seq, "+rowColumns+", "+linkColumns+", "+strange+
					" FROM ledger WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
					func(b *binder) {
						b.number(after)
						b.number(newest)
						b.number(pageRows)
					},
					func(s *scanner) { page = append(page, s.link()) })
			})
			if err != nil {
				break
			}
			for _, row := range page {
				after = row.Seq
				if !yield(row, nil) {
					return
				}
			}
			if len(page) < pageRows || after == math.MaxInt64 {
				return
			}
		}
		yield(ledger.LinkedRow{}, err)
	}
}

// strange is the name of a column that holds a value which no store has written
// there, so that reading it as what it should be hides it.
const strange = `CASE
	WHEN typeof(host) <> 'text' THEN 'host'
	WHEN typeof(call) <> 'text' THEN 'call'
	WHEN typeof(run) NOT IN ('text', 'null') OR run = '' THEN 'run'
	WHEN typeof(attempt) <> 'integer' THEN 'attempt'
	WHEN typeof(started) <> 'integer' THEN 'started'
	WHEN typeof(ended) <> 'integer' THEN 'ended'
	WHEN typeof(principal) <> 'text' THEN 'principal'
	WHEN typeof(op) <> 'text' THEN 'op'
	WHEN typeof(tool) <> 'text' THEN 'tool'
	WHEN typeof(adapter) NOT IN ('text', 'null') OR adapter = '' THEN 'adapter'
	WHEN typeof(effects) NOT IN ('text', 'null') OR effects = '' THEN 'effects'
	WHEN typeof(spec) NOT IN ('blob', 'null') OR length(spec) <> 32 OR spec = zeroblob(32) THEN 'spec'
	WHEN typeof(args) NOT IN ('blob', 'null') OR length(args) <> 32 OR args = zeroblob(32) THEN 'args'
	WHEN typeof(asked) NOT IN ('blob', 'null') OR length(asked) <> 32 OR asked = zeroblob(32) THEN 'asked'
	WHEN typeof(approval) NOT IN ('text', 'null') OR approval = '' THEN 'approval'
	WHEN typeof(decided_by) NOT IN ('text', 'null') OR decided_by = '' THEN 'decided_by'
	WHEN late NOT IN (0, 1) THEN 'late'
	WHEN typeof(outcome) <> 'text' THEN 'outcome'
	WHEN typeof(error_kind) NOT IN ('text', 'null') OR error_kind = '' THEN 'error_kind'
	WHEN typeof(error_code) NOT IN ('text', 'null') OR error_code = '' THEN 'error_code'
	WHEN typeof(detail) NOT IN ('text', 'null') OR detail = '' THEN 'detail'
	WHEN typeof(ran) NOT IN ('text', 'null') OR ran = '' THEN 'ran'
	WHEN typeof(gate) NOT IN ('text', 'null') OR gate = '' THEN 'gate'
	WHEN typeof(result_bytes) <> 'integer' THEN 'result_bytes'
	WHEN typeof(cost) NOT IN ('text', 'null') OR cost = '' THEN 'cost'
	WHEN typeof(client) NOT IN ('text', 'null') OR client = '' THEN 'client'
	WHEN typeof(protocol) NOT IN ('text', 'null') OR protocol = '' THEN 'protocol'
	WHEN typeof(chain_n) NOT IN ('integer', 'null') THEN 'chain_n'
	WHEN typeof(hash) NOT IN ('blob', 'null') OR length(hash) <> 32 THEN 'hash'
	END`

// link reads seq, rowColumns, linkColumns and strange.
func (s *scanner) link() (r ledger.LinkedRow) {
	r.Row = s.row()
	r.N = s.number()
	r.Hash = s.digest()
	if column := s.text(); column != "" {
		r.Fault = "column " + column + " has a value that no host has written"
	}
	return r
}

// Heads returns the newest head of each host, sorted by host.
func (r *Reader) Heads(ctx context.Context) ([]ledger.Checkpoint, error) {
	var heads []ledger.Checkpoint
	err := r.use(ctx, func(conn *sqlite3.Conn) error {
		return each(conn, "SELECT host, n, hash, time, key, signature FROM heads ORDER BY host", nil,
			func(s *scanner) { heads = append(heads, s.signed()) })
	})
	return heads, err
}

// checkpointPage is how many checkpoints one read takes at most; each has up to
// anchorsMost anchors.
const checkpointPage = 32

// Checkpoints yields the checkpoints of all hosts, the oldest first. An error is
// the last thing that it yields.
func (r *Reader) Checkpoints(ctx context.Context) iter.Seq2[ledger.Checkpoint, error] {
	return func(yield func(ledger.Checkpoint, error) bool) {
		for after := int64(0); ; {
			var page []ledger.Checkpoint
			var broken error
			err := r.use(ctx, func(conn *sqlite3.Conn) error {
				return each(conn, `SELECT host, n, hash, time, key, signature, anchors, id FROM checkpoints
					WHERE id > ? ORDER BY id LIMIT ?`,
					func(b *binder) {
						b.number(after)
						b.number(checkpointPage)
					},
					func(s *scanner) {
						c := s.signed()
						c.Anchors = s.heads(&broken)
						after = s.number()
						page = append(page, c)
					})
			})
			if err = errors.Join(err, broken); err != nil {
				yield(ledger.Checkpoint{}, err)
				return
			}
			for _, c := range page {
				if !yield(c, nil) {
					return
				}
			}
			if len(page) < checkpointPage {
				return
			}
		}
	}
}

// Cuts returns what retention has left of what it has removed.
func (r *Reader) Cuts(ctx context.Context) ([]ledger.Cut, error) {
	var cuts []ledger.Cut
	var broken error
	err := r.use(ctx, func(conn *sqlite3.Conn) error {
		return each(conn, "SELECT seq, heads, anchors, by, time, key, signature FROM cuts ORDER BY seq", nil,
			func(s *scanner) {
				cuts = append(cuts, ledger.Cut{
					Seq: s.number(), Heads: s.heads(&broken), Anchors: s.heads(&broken),
					By: s.text(), Time: s.number(), Key: s.text(), Signature: s.blob(),
				})
			})
	})
	return cuts, errors.Join(err, broken)
}

func (s *scanner) signed() (c ledger.Checkpoint) {
	c.Head = s.head()
	c.Time = s.number()
	c.Key = s.text()
	c.Signature = s.blob()
	return c
}

// storedHead is a head as JSON.
type storedHead struct {
	Host string      `json:"host"`
	N    int64       `json:"n"`
	Hash tool.Digest `json:"hash"`
}

// heads reads what headsJSON has made.
func (s *scanner) heads(broken *error) []ledger.Head {
	var stored []storedHead
	if err := json.Unmarshal(s.blob(), &stored); err != nil {
		*broken = fmt.Errorf("heads that no host has written: %w", err)
		return nil
	}
	var heads []ledger.Head
	for _, h := range stored {
		heads = append(heads, ledger.Head(h))
	}
	return heads
}

func headsJSON(heads []ledger.Head) ([]byte, error) {
	stored := make([]storedHead, 0, len(heads))
	for _, h := range heads {
		stored = append(stored, storedHead(h))
	}
	return json.Marshal(stored)
}
