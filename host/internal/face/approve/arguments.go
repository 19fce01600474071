// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/a-h/templ"

	"github.com/toolwharf/toolwharf/host/internal/approval"
)

// maxMarked bounds the elements that are made of arguments: a browser lays out a
// megabyte of text at once, and a hundred thousand elements never.
const maxMarked = 2000

// kind is how a piece of text is shown.
type kind int

const (
	plain       kind = iota
	escaped          // a character that would not be seen
	rightToLeft      // a string that is kept from reordering what is beside it
)

type segment struct {
	kind kind
	text string
}

// arguments are the complete arguments of a call, as a person can judge them.
type arguments struct {
	text     string // JSON, readable
	segments []segment
	// Size is how large they are, for people.
	Size string
	// Escapes are the characters that are shown as escapes.
	Escapes int
	// forced: every character stands where it is in the text, since there are too
	// many strings to keep each in its place.
	forced bool
}

func newArguments(raw []byte) arguments {
	a := arguments{text: approval.Readable(raw), Size: size(len(raw))}
	a.segments, a.Escapes, a.forced = cut(a.text)
	return a
}

// cut divides readable JSON into its pieces.
func cut(text string) (segments []segment, escapes int, forced bool) {
	from, marked := 0, 0
	add := func(k kind, start, end int) {
		if marked++; marked > maxMarked {
			return
		}
		if from < start {
			segments = append(segments, segment{plain, text[from:start]})
		}
		segments = append(segments, segment{k, text[start:end]})
		from = end
	}
	for i := 0; i < len(text); {
		if text[i] != '"' {
			i++
			continue
		}
		end, reorders := stringEnd(text, i)
		piece := i // of a string that reorders, since the last escape
		for j := i + 1; j < end; j++ {
			if text[j] != '\\' {
				continue
			}
			if text[j+1] == 'u' {
				escapes++
				if reorders {
					add(rightToLeft, piece, j)
				}
				add(escaped, j, j+6)
				piece = j + 6
			}
			j++
		}
		if reorders {
			add(rightToLeft, piece, end)
			forced = forced || marked > maxMarked
		}
		i = end
	}
	return append(segments, segment{plain, text[from:]}), escapes, forced
}

// stringEnd returns where the string that begins at i has ended, and whether it
// has characters that are read from right to left.
func stringEnd(text string, i int) (end int, reorders bool) {
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case '"':
			return j + 1, strings.ContainsFunc(text[i:j], readsLeftwards)
		}
	}
	return len(text), true
}

// readsLeftwards reports a character of a script that is written from right to
// left (Unicode, bidirectional classes R and AL, by blocks).
func readsLeftwards(r rune) bool {
	return r >= 0x590 && (r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff ||
		r >= 0x10800 && r <= 0x10fff || r >= 0x1e800 && r <= 0x1efff)
}

func (a arguments) escapesText() string {
	if a.Escapes == 1 {
		return "One character below is written as an escape, \\uXXXX: it would not be seen, or would change how the rest is seen."
	}
	return fmt.Sprintf("%d characters below are written as escapes, \\uXXXX: they would not be seen, or would change how the rest is seen.", a.Escapes)
}

// pre shows arguments. White space counts in it, so it is written by hand.
func pre(id string, a arguments) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		var b strings.Builder
		fmt.Fprintf(&b, `<pre id="%s" tabindex="0" dir="ltr"`, templ.EscapeString(id))
		if a.forced {
			b.WriteString(` class="forced"`)
		}
		b.WriteString(">")
		for _, s := range a.segments {
			open, shut := "", ""
			switch s.kind {
			case escaped:
				open, shut = "<mark>", "</mark>"
			case rightToLeft:
				open, shut = "<bdi>", "</bdi>"
			case plain:
			}
			b.WriteString(open + templ.EscapeString(s.text) + shut)
		}
		b.WriteString("</pre>")
		_, err := io.WriteString(w, b.String())
		return err
	})
}

func size(n int) string {
	switch {
	case n < 2<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
}
