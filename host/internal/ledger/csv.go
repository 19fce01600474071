// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bufio"
	"context"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// ExportCSV writes the rows that q selects as CSV (RFC 4180): a header, then the
// columns of JSON in its order, chain_n and hash, in UTF-8, lines ending with
// CRLF. What is empty is an empty cell. A text that begins with =, +, -, @, a
// tab or a carriage return gets a ' in front: spreadsheets run the others as
// formulas. For the same reason it is for reading; to verify, export JSONL.
func ExportCSV(ctx context.Context, w io.Writer, src Source, q Query) (rows int64, err error) {
	header := csvLine{names: true}
	header.row(&proofRow{})
	if _, err := io.WriteString(w, header.String()); err != nil {
		return 0, err
	}
	return export(ctx, w, src, q, func(out *bufio.Writer, row *proofRow) error {
		line := csvLine{}
		line.row(row)
		_, err := out.WriteString(line.String())
		return err
	})
}

// csvLine writes the cells of a line, or their names.
type csvLine struct {
	cells []string
	names bool
}

func (l *csvLine) row(r *proofRow) {
	writeColumns(l, &r.Row)
	l.number("chain_n", r.N)
	l.digest("hash", r.Hash)
}

// String returns the line with its end.
func (l *csvLine) String() string { return strings.Join(l.cells, ",") + "\r\n" }

func (l *csvLine) cell(name, s string) {
	if l.names {
		s = name
	}
	if strings.ContainsAny(s, "\",\r\n") {
		s = `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	l.cells = append(l.cells, s)
}

// text writes a cell that is not a formula to any spreadsheet.
func (l *csvLine) text(name, s string) {
	s = strings.ToValidUTF8(s, "\ufffd")
	if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		s = "'" + s
	}
	l.cell(name, s)
}

func (l *csvLine) number(name string, n int64) { l.cell(name, strconv.FormatInt(n, 10)) }

func (l *csvLine) flag(name string, set bool) { l.cell(name, strconv.FormatBool(set)) }

func (l *csvLine) time(name string, t time.Time) {
	s := ""
	if !t.IsZero() {
		s = t.UTC().Format(timeFormat)
	}
	l.cell(name, s)
}

func (l *csvLine) digest(name string, d tool.Digest) {
	s := ""
	if !d.IsZero() {
		s = d.String()
	}
	l.cell(name, s)
}
