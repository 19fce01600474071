// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package logbook takes what plugins write to stderr: it makes lines of the host's
// log of it, and keeps the last ones of each adapter. All of it is a plugin's word:
// it is bounded, cannot forge what is the host's own, and has no secret in it that
// the adapter was given.
package logbook

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Bounds of what is taken and kept of one adapter.
const (
	// MaxRate is how many bytes within a second; what is beyond is dropped, and
	// how much it was is said.
	MaxRate = 256 << 10
	// MaxLines and MaxBytes are kept.
	MaxLines = 1000
	MaxBytes = 64 << 10
	// maxPages is of how many adapters lines are kept.
	maxPages = 1000
)

// Redactor takes secrets out of what an adapter says.
type Redactor interface {
	Text(adapter, text string) string
	// JSON is given one valid JSON value.
	JSON(adapter string, raw []byte) []byte
}

// Line is one line of an adapter's log.
type Line struct {
	// Time is when the host has read it.
	Time    time.Time
	Level   hclog.Level
	Message string
	// Attributes are one JSON object; nil: none.
	Attributes json.RawMessage
}

// size is what a line counts as.
func (l *Line) size() int { return len(l.Message) + len(l.Attributes) + 32 }

// Book has a page for each adapter. It is safe for concurrent use.
type Book struct {
	log      hclog.Logger
	redactor Redactor

	mu    sync.Mutex
	pages map[string]*page
}

// New returns an empty book. Lines are also written to the log, under the adapter's
// name.
func New(log hclog.Logger, redactor Redactor) *Book {
	return &Book{log: log, redactor: redactor, pages: map[string]*page{}}
}

// page is what is kept of one adapter.
type page struct {
	log hclog.Logger

	mu      sync.Mutex
	lines   []Line
	bytes   int
	first   uint64        // number of lines[0]
	changed chan struct{} // closed at the next line
	second  second
}

// second is what was taken and dropped since it began.
type second struct {
	began        time.Time
	taken        int
	lines, bytes int // dropped
}

func (b *Book) page(adapter string) *page {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.pages[adapter]
	if p == nil {
		if len(b.pages) >= maxPages {
			b.tear()
		}
		p = &page{log: b.log.Named(adapter), changed: make(chan struct{})}
		b.pages[adapter] = p
	}
	return p
}

// tear tears out the page that was written to longest ago.
func (b *Book) tear() {
	var oldest string
	var since time.Time
	for adapter, p := range b.pages {
		p.mu.Lock()
		at := p.second.began
		p.mu.Unlock()
		if oldest == "" || at.Before(since) {
			oldest, since = adapter, at
		}
	}
	delete(b.pages, oldest)
}

// admit reports whether n more bytes may be taken now.
func (p *page) admit(n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.second.began) >= time.Second {
		p.settle()
		p.second = second{began: now}
	}
	if p.second.taken+n <= MaxRate {
		p.second.taken += n
		return true
	}
	if p.second.lines == 0 {
		time.AfterFunc(time.Until(p.second.began.Add(time.Second)), func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.settle()
		})
	}
	p.second.taken = MaxRate // a shorter one does not slip through
	p.second.lines++
	p.second.bytes += n
	return false
}

// settle says what was dropped, once; p.mu is held.
func (p *page) settle() {
	s := &p.second
	if s.lines == 0 {
		return
	}
	p.write(Line{
		Level: hclog.Warn, Message: fmt.Sprintf("log lines were dropped: more than %d KiB came within a second", MaxRate>>10),
		Attributes: json.RawMessage(fmt.Sprintf(`{"bytes":%d,"lines":%d}`, s.bytes, s.lines)),
	}, "lines", s.lines, "bytes", s.bytes)
	s.lines, s.bytes = 0, 0
}

// take writes a line.
func (p *page) take(l Line, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.write(l, args...)
}

// write writes a line to the log and keeps it; p.mu is held.
func (p *page) write(l Line, args ...any) {
	p.log.Log(l.Level, l.Message, args...)
	l.Time = time.Now()
	p.lines, p.bytes = append(p.lines, l), p.bytes+l.size()
	var over int
	for ; len(p.lines)-over > MaxLines || p.bytes > MaxBytes && len(p.lines)-over > 1; over++ {
		p.bytes -= p.lines[over].size()
	}
	clear(p.lines[:over]) // their texts are free at once, their places with the next growth
	p.lines, p.first = p.lines[over:], p.first+uint64(over)
	close(p.changed)
	p.changed = make(chan struct{})
}

// since returns the lines from a number on, and a channel that is closed at the
// next one.
func (p *page) since(number uint64) (lines []Line, next uint64, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	end := p.first + uint64(len(p.lines))
	from := max(number, p.first)
	if from < end {
		lines = append(lines, p.lines[from-p.first:]...)
	}
	return lines, end, p.changed
}

// Lines are the last n lines of an adapter, and, if they are followed, those that
// come, until ctx ends. A reader that is slow misses lines.
func (b *Book) Lines(ctx context.Context, adapter string, n int, follow bool) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		p := b.page(adapter)
		lines, next, changed := p.since(0)
		lines = lines[max(0, len(lines)-max(0, n)):]
		for {
			for _, l := range lines {
				if !yield(l) {
					return
				}
			}
			if !follow {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
			lines, next, changed = p.since(next)
		}
	}
}
