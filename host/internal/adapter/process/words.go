// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

const (
	maxWords = 4 << 10
	maxLine  = 256
)

// lastWords keeps the end of what is read through it.
type lastWords struct {
	io.ReadCloser

	mu   sync.Mutex
	tail []byte
	once sync.Once
	over chan struct{} // closed once there is nothing more to read
}

// Read reads and keeps.
func (w *lastWords) Read(b []byte) (int, error) {
	n, err := w.ReadCloser.Read(b)
	if err != nil {
		defer w.once.Do(func() { close(w.over) })
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tail = append(w.tail, b[:n]...)
	if over := len(w.tail) - maxWords; over > 0 {
		w.tail = append(w.tail[:0], w.tail[over:]...)
	}
	return n, err
}

// String is the last lines, at most three.
func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(w.tail), "\uFFFD")), "\n")
	if len(lines) > 3 {
		lines = lines[len(lines)-3:]
	}
	return strings.Join(lines, "\n")
}

// firstLine keeps the beginning of what is read through it, and lets nothing
// through that comes after the first line.
type firstLine struct {
	io.ReadCloser

	mu   sync.Mutex
	head []byte
	over bool // the first line is complete
}

// Read reads and keeps. Nobody wants what comes after the handshake, but it must
// be read: go-plugin gives up at a line of 64 KiB, and a plugin that prints one
// would block for ever.
func (f *firstLine) Read(b []byte) (int, error) {
	for {
		over := f.complete()
		n, err := f.ReadCloser.Read(b)
		if over {
			n = 0
		}
		f.keep(b[:n])
		if n > 0 || err != nil || len(b) == 0 {
			return n, err
		}
	}
}

func (f *firstLine) complete() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.over
}

func (f *firstLine) keep(b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if room := maxLine - len(f.head); room > 0 {
		f.head = append(f.head, b[:min(len(b), room)]...)
	}
	f.over = f.over || bytes.IndexByte(b, '\n') >= 0
}

// String is the first line as far as it was kept.
func (f *firstLine) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	line, _, _ := bytes.Cut(f.head, []byte{'\n'})
	return strings.ToValidUTF8(string(line), "\uFFFD")
}
