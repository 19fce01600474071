// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"iter"
	"math"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// proofRow is a row with all that an export says of it.
type proofRow struct {
	LinkedRow

	// prev is the hash before it, zero if that row was not there.
	prev tool.Digest
	// head is the signed head of its host, if it is this row.
	head *Checkpoint
	// cut is what retention has left, with the first row.
	cut *Cut
	// excerpt: rows may have been left out around it.
	excerpt bool
}

// ExportJSONL writes the rows that q selects, the oldest first, one JSON object
// on a line: that of JSON, and the row's place in the chain. VerifyExport reads
// it. The proof of the whole is in the rows: the newest row of each host brings
// the host's signature, the first one what retention has left. With a query it
// is an excerpt, which proves less. q.Last is ignored. It returns how many rows
// it wrote.
func ExportJSONL(ctx context.Context, w io.Writer, src Source, q Query) (rows int64, err error) {
	return export(ctx, w, src, q, func(out *bufio.Writer, row *proofRow) error {
		_, err := out.Write(append(row.line(), '\n'))
		return err
	})
}

// export writes what q selects through a buffer.
func export(
	ctx context.Context, w io.Writer, src Source, q Query, write func(*bufio.Writer, *proofRow) error,
) (rows int64, err error) {
	q.Last = 0
	excerpt := q != Query{}
	out := bufio.NewWriterSize(w, 64<<10)
	for row, err := range proofRows(ctx, src) {
		if err != nil {
			return rows, err
		}
		if !q.Match(&row.Row) {
			continue
		}
		if row.excerpt = excerpt; excerpt {
			row.cut = nil
		}
		if err := write(out, &row); err != nil {
			return rows, fmt.Errorf("output: %w", err)
		}
		rows++
	}
	if err := out.Flush(); err != nil {
		return rows, fmt.Errorf("output: %w", err)
	}
	return rows, nil
}

// proofRows yields all rows, so that each chain ends with its signed head: if a
// host writes meanwhile, up to the heads of a moment in between.
func proofRows(ctx context.Context, src Source) iter.Seq2[proofRow, error] {
	return func(yield func(proofRow, error) bool) {
		p := &proof{src: src, ends: map[string]Head{}}
		if err := p.open(ctx); err != nil {
			yield(proofRow{}, err)
			return
		}
		if p.pass(ctx, math.MinInt64, yield) && p.behind() {
			p.last = true
			p.pass(ctx, p.seq, yield)
		}
	}
}

type proof struct {
	src   Source
	cut   *Cut
	heads map[string]*Checkpoint
	ends  map[string]Head // of the chains so far
	seq   int64
	// fresh: the heads are newer than every row of this pass; last: rows that
	// are newer than the heads end it.
	fresh, last bool
}

func (p *proof) open(ctx context.Context) error {
	cut, err := newestCut(ctx, p.src)
	if err != nil {
		return err
	}
	if cut.Seq > 0 {
		p.cut = &cut
		for _, h := range cut.Heads {
			p.ends[h.Host] = h
		}
	}
	return p.readHeads(ctx)
}

func (p *proof) readHeads(ctx context.Context) error {
	heads, err := p.src.Heads(ctx)
	if err != nil {
		return fmt.Errorf("signed heads: %w", err)
	}
	p.heads = make(map[string]*Checkpoint, len(heads))
	for i := range heads {
		p.heads[heads[i].Host] = &heads[i]
	}
	return nil
}

// behind reports whether a chain has not reached its head.
func (p *proof) behind() bool {
	for host, c := range p.heads {
		if p.ends[host].N < c.N {
			return p.fresh
		}
	}
	return false
}

func (p *proof) pass(ctx context.Context, after int64, yield func(proofRow, error) bool) bool {
	for row, err := range p.src.Links(ctx, after) {
		if err == nil && !p.signed(&row) && !p.fresh {
			p.fresh = true
			err = p.readHeads(ctx)
		}
		if err != nil {
			yield(proofRow{}, fmt.Errorf("rows: %w", err))
			return false
		}
		if p.last && !p.signed(&row) {
			return true
		}
		if !yield(p.row(row), nil) {
			return false
		}
	}
	return true
}

func (p *proof) signed(row *LinkedRow) bool {
	c := p.heads[row.Host]
	return c != nil && row.N <= c.N
}

func (p *proof) row(row LinkedRow) proofRow {
	out := proofRow{LinkedRow: row, cut: p.cut}
	p.cut = nil
	if end := p.ends[row.Host]; end.N == row.N-1 {
		out.prev = end.Hash
	}
	if c := p.heads[row.Host]; c != nil && c.N == row.N {
		out.head = c
	}
	if row.N > p.ends[row.Host].N {
		p.ends[row.Host] = Head{Host: row.Host, N: row.N, Hash: row.Hash}
	}
	p.seq = max(p.seq, row.Seq)
	return out
}

// line returns the row as ExportJSONL writes it.
func (r *proofRow) line() []byte {
	o := object{buf: make([]byte, 0, 2048)}
	writeColumns(&o, &r.Row)
	o.number("chain_n", r.N)
	o.digest("prev", r.prev)
	o.digest("hash", r.Hash)
	if r.excerpt {
		o.flag("excerpt", true)
	}
	if broken := o.broken; len(broken) > 0 {
		o.open("bytes")
		for _, b := range broken {
			o.base64(b.name, []byte(b.value))
		}
		o.buf = append(o.buf, '}')
	}
	if c := r.head; c != nil {
		o.open("checkpoint")
		o.heads("anchors", c.Anchors)
		o.number("time", c.Time)
		o.text("key", c.Key)
		o.base64("signature", c.Signature)
		o.buf = append(o.buf, '}')
	}
	if c := r.cut; c != nil {
		o.open("cut")
		o.number("seq", c.Seq)
		o.heads("heads", c.Heads)
		o.heads("anchors", c.Anchors)
		o.text("by", c.By)
		o.number("time", c.Time)
		o.text("key", c.Key)
		o.base64("signature", c.Signature)
		o.buf = append(o.buf, '}')
	}
	return append(o.buf, '}')
}

// open begins an object inside.
func (o *object) open(name string) {
	o.key(name)
	o.buf = append(o.buf, '{')
}

func (o *object) base64(name string, b []byte) {
	o.key(name)
	o.buf = append(o.buf, '"')
	o.buf = base64.StdEncoding.AppendEncode(o.buf, b)
	o.buf = append(o.buf, '"')
}

// heads writes an array of "host:n:hash".
func (o *object) heads(name string, heads []Head) {
	o.key(name)
	o.buf = append(o.buf, '[')
	for i, h := range heads {
		if i > 0 {
			o.buf = append(o.buf, ',')
		}
		o.value(h.String())
	}
	o.buf = append(o.buf, ']')
}
