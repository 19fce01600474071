// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Text writes the row as one line for people: when it ended, seq, how it ended,
// how long it took, who called what, and what went wrong. Wide adds everything
// else, as name=value under the names of the columns. What has blanks or
// characters that a terminal may act upon or not show is quoted as in Go, so
// that a row is one line and a value cannot pass for another.
func Text(w io.Writer, row Row, wide bool) error {
	l := line{buf: make([]byte, 0, 256)}
	l.plain(clock(row.Ended))
	l.plain(fmt.Sprintf("%6d", row.Seq))
	l.plain(fmt.Sprintf("%-7s", show(string(row.Outcome))))
	l.plain(fmt.Sprintf("%8s", took(row)))
	l.plain(show(cmp.Or(row.Tool, string(row.Op)))) // a reload is of no tool
	l.plain("by " + show(row.Principal))
	l.pair("error_kind", string(row.Kind))
	l.pair("error_code", row.Code)
	l.pair("gate", row.Gate)
	l.pair("ran", string(row.Ran))
	if wide {
		l.pair("call", row.Call)
		l.pair("run", row.Run)
		l.pair("host", row.Host)
		l.pair("adapter", row.Adapter)
		l.pair("op", string(row.Op))
		l.pair("effects", string(row.Effects))
		l.pair("attempt", strconv.Itoa(row.Attempt))
		l.pair("started", clock(row.Started))
		l.pair("result_bytes", strconv.FormatInt(row.ResultBytes, 10))
		l.pair("cost", row.Cost)
		l.pair("client", row.Client)
		l.pair("protocol", row.Protocol)
		l.digest("spec", row.Spec)
		l.digest("args", row.Args)
		l.digest("asked", row.Asked)
		l.pair("approval", row.Approval)
		l.pair("decided_by", row.DecidedBy)
		if row.Late {
			l.pair("late", "true")
		}
		l.pair("detail", row.Detail)
	}
	_, err := w.Write(append(l.buf, '\n'))
	return err
}

// line joins words by blanks.
type line struct{ buf []byte }

func (l *line) plain(word string) {
	if len(l.buf) > 0 {
		l.buf = append(l.buf, ' ')
	}
	l.buf = append(l.buf, word...)
}

// pair adds name=value, unless there is no value.
func (l *line) pair(name, value string) {
	if value != "" {
		l.plain(name + "=" + show(value))
	}
}

func (l *line) digest(name string, d tool.Digest) {
	if !d.IsZero() {
		l.pair(name, d.String())
	}
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(timeFormat)
}

// took is how long the call took, in three digits or so.
func took(row Row) string {
	d := row.Ended.Sub(row.Started)
	switch {
	case row.Started.IsZero() || row.Ended.IsZero() || d < 0:
		return "-"
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + "µs"
	case d < time.Second:
		return strconv.FormatFloat(float64(d.Microseconds())/1e3, 'f', 1, 64) + "ms"
	default:
		return d.Round(100 * time.Millisecond).String()
	}
}

// show returns s itself if that is one visible word that begins with no quote,
// else s quoted. Nothing at all is "-".
func show(s string) string {
	if s == "" {
		return "-"
	}
	hidden := func(r rune) bool { return r == ' ' || !strconv.IsPrint(r) }
	if s == "-" || s[0] == '"' || !utf8.ValidString(s) || strings.ContainsFunc(s, hidden) {
		return strconv.Quote(s)
	}
	return s
}
