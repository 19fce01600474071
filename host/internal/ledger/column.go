// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// columns writes the columns of a row for hashing: name and value, both framed
// by their lengths. What is empty is left out. The name says the type of the
// value, so that no value can stand for another of the same bytes.
type columns []byte // by value, so that a short row needs no memory

func (c columns) text(name, s string) columns {
	if s == "" {
		return c
	}
	return appendText(appendText(c, name), s)
}

func (c columns) number(name string, n int64) columns {
	if n == 0 {
		return c
	}
	return c.fixed(name, n)
}

// time writes microseconds since 1970: 1970 itself is a time.
func (c columns) time(name string, t time.Time) columns {
	if t.IsZero() {
		return c
	}
	return c.fixed(name, t.UnixMicro())
}

func (c columns) flag(name string, set bool) columns {
	if !set {
		return c
	}
	return c.fixed(name, 1)
}

func (c columns) fixed(name string, n int64) columns {
	const size = 8
	return appendNumber(appendNumber(appendText(c, name), size), n)
}

func (c columns) digest(name string, d tool.Digest) columns {
	if d.IsZero() {
		return c
	}
	return append(appendNumber(appendText(c, name), int64(len(d))), d[:]...)
}
