// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// body is a request's, bounded in size and time.
type body struct {
	io.ReadCloser

	control *http.ResponseController
	ended   bool
}

// bounded bounds the body of a request. end must be called once it was answered.
// The deadline is best effort: what is no network connection has none.
func (g *guard) bounded(w *answering, r *http.Request) *body {
	if r.Body == nil || r.Body == http.NoBody {
		return &body{ended: true}
	}
	_ = w.control.SetReadDeadline(time.Now().Add(g.bounds.BodyTime))
	b := &body{ReadCloser: http.MaxBytesReader(w.ResponseWriter, r.Body, g.bounds.Body), control: w.control}
	r.Body = b
	return b
}

// Read reads. At the end of the body its deadline ends: net/http goes on to watch
// whether the client leaves, and would take a deadline for that.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && !b.ended {
		b.ended = true
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// end lets go of what was not read. net/http reads the rest before it answers.
func (b *body) end() {
	if !b.ended {
		_ = b.control.SetReadDeadline(time.Now().Add(restTime))
	}
}
