// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
)

// maxLine bounds a line of an export, in bytes: a row has at most 1 MiB of text,
// of which each byte may be escaped in six, and the anchors of many hosts.
const maxLine = 32 << 20

// VerifyExport verifies what ExportJSONL wrote, reading it twice. A whole ledger
// is judged as by Verify, short of the older checkpoints, which are not in it. Of
// an excerpt each row is compared with its hash, and the report notes how much
// of it is under a signature and what it does not prove.
func VerifyExport(ctx context.Context, file io.ReadSeeker, t Trust) (*Report, error) {
	x := &exported{file: file, excerpt: -1}
	if err := x.survey(ctx); err != nil {
		return nil, err
	}
	if x.excerpt != 1 {
		return Verify(ctx, x, t)
	}
	v := newVerification(t)
	v.excerpt, v.report.Excerpt = true, true
	if err := v.readHeads(ctx, x); err != nil {
		return nil, err
	}
	v.begin()
	for row, err := range x.lines(ctx) {
		if err != nil {
			return nil, err
		}
		v.row(&row.LinkedRow, row.prev)
	}
	v.report.Notes = append(v.report.Notes, "this is an excerpt: that no row was left out of it cannot be seen")
	v.end()
	return v.report, nil
}

// exported is an export as a Source.
type exported struct {
	file    io.ReadSeeker
	heads   []Checkpoint
	cuts    []Cut
	excerpt int // -1 before the first row
}

// survey collects the signatures.
func (x *exported) survey(ctx context.Context) error {
	n := 0
	for row, err := range x.lines(ctx) {
		if err != nil {
			return err
		}
		n++
		kind := 0
		if row.excerpt {
			kind = 1
		}
		if x.excerpt >= 0 && x.excerpt != kind {
			return fmt.Errorf("line %d: rows of an excerpt and of a whole ledger in one file", n)
		}
		x.excerpt = kind
		if row.head != nil {
			x.heads = append(x.heads, *row.head)
		}
		if row.cut != nil {
			x.cuts = append(x.cuts, *row.cut)
		}
	}
	return nil
}

// lines yields the rows of the file from its beginning.
func (x *exported) lines(ctx context.Context) iter.Seq2[*proofRow, error] {
	return func(yield func(*proofRow, error) bool) {
		if _, err := x.file.Seek(0, io.SeekStart); err != nil {
			yield(nil, err)
			return
		}
		lines := bufio.NewScanner(x.file)
		lines.Buffer(make([]byte, 0, 64<<10), maxLine)
		n := 0
		for lines.Scan() {
			n++
			row, err := parseLine(lines.Bytes())
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				yield(nil, fmt.Errorf("line %d: %w", n, err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			if errors.Is(err, bufio.ErrTooLong) {
				err = fmt.Errorf("longer than %d bytes", maxLine)
			}
			yield(nil, fmt.Errorf("line %d: %w", n+1, err))
		}
	}
}

func (x *exported) Links(ctx context.Context, after int64) iter.Seq2[LinkedRow, error] {
	return func(yield func(LinkedRow, error) bool) {
		for row, err := range x.lines(ctx) {
			if err != nil {
				yield(LinkedRow{}, err)
				return
			}
			if row.Seq > after && !yield(row.LinkedRow, nil) {
				return
			}
		}
	}
}

func (x *exported) Heads(context.Context) ([]Checkpoint, error) { return x.heads, nil }

func (x *exported) Checkpoints(context.Context) iter.Seq2[Checkpoint, error] {
	return func(func(Checkpoint, error) bool) {}
}

func (x *exported) Cuts(context.Context) ([]Cut, error) { return x.cuts, nil }
