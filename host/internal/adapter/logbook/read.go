// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package logbook

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
)

// nap is for how long nothing is read after each piece that was dropped: it bounds
// what a flood costs the host, at the cost of whoever makes it.
const nap = time.Millisecond

// Read takes all that an adapter's process writes to r, until its end. A process
// that writes more than is taken is slowed down, and not stopped.
func (b *Book) Read(adapter string, r io.Reader) {
	p := b.page(adapter)
	redact := func(raw []byte, isJSON bool) []byte {
		if isJSON {
			return b.redactor.JSON(adapter, raw)
		}
		return []byte(b.redactor.Text(adapter, string(raw)))
	}
	lines := bufio.NewReaderSize(r, maxLine)
	panics, dropped := false, 0
	for {
		raw, cutFrom, err := next(lines)
		raw = bytes.TrimSuffix(raw, []byte("\r"))
		switch {
		case len(raw) == 0:
		case !p.admit(len(raw) + 1):
			if dropped += len(raw); dropped > maxLine {
				dropped = 0
				time.Sleep(nap)
			}
		default:
			said := parse(raw, redact)
			// The runtime of Go says why it ends in lines without a level.
			panics = panics || said.plain && (strings.HasPrefix(said.message, "panic: ") || strings.HasPrefix(said.message, "fatal error: "))
			if panics && said.plain {
				said.level = hclog.Error
			}
			if cutFrom > 0 {
				said.message = strings.ToValidUTF8(said.message[:min(len(said.message), maxLine/2)], "")
				said.attributes = map[string]any{"cut_from_bytes": cutFrom}
			}
			l, args := said.line()
			p.take(l, args...)
		}
		if err != nil {
			return
		}
	}
}

// next is the next line, good until the next call; if it is too long, its beginning,
// and how long the whole of it was.
func next(r *bufio.Reader) (raw []byte, cutFrom int, err error) {
	raw, err = r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return bytes.TrimSuffix(raw, []byte("\n")), 0, err
	}
	raw = bytes.Clone(raw)
	cutFrom = len(raw)
	for errors.Is(err, bufio.ErrBufferFull) {
		var more []byte
		more, err = r.ReadSlice('\n')
		cutFrom += len(more)
		time.Sleep(nap)
	}
	return raw, cutFrom, err
}
