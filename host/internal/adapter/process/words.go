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
	return n, err //nolint:wrapcheck // io.EOF must stay itself
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

// firstLine keeps the beginning of what is read through it.
type firstLine struct {
	io.ReadCloser

	mu   sync.Mutex
	head []byte
}

// Read reads and keeps.
func (f *firstLine) Read(b []byte) (int, error) {
	n, err := f.ReadCloser.Read(b)
	f.mu.Lock()
	defer f.mu.Unlock()
	if room := maxLine - len(f.head); room > 0 {
		f.head = append(f.head, b[:min(n, room)]...)
	}
	return n, err //nolint:wrapcheck // io.EOF must stay itself
}

// String is the first line as far as it was kept.
func (f *firstLine) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	line, _, _ := bytes.Cut(f.head, []byte{'\n'})
	return strings.ToValidUTF8(string(line), "\uFFFD")
}
