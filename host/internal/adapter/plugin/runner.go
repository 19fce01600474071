// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"io"
	"strings"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/toolwharf/toolwharf/host/internal/adapter/logbook"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process"
)

// Logs take what a plugin writes to stderr.
type Logs interface {
	// Read reads until the end of r.
	Read(adapter string, r io.Reader)
}

// quiet is a process as go-plugin sees it: without stderr. What go-plugin makes of
// that has no bound, and a line whose @message is no text ends the host.
type quiet struct {
	*process.Process

	read func(io.Reader)
}

var _ runner.Runner = (*quiet)(nil)

// Start starts the process and lets its stderr be read.
func (q *quiet) Start(ctx context.Context) error {
	if err := q.Process.Start(ctx); err != nil {
		return err
	}
	go q.read(q.Process.Stderr())
	return nil
}

// Stderr is empty.
func (q *quiet) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// read reads an adapter's stderr, whether or not somebody wants it.
func (l *Launcher) read(adapter string, r io.Reader) {
	if l.Logs != nil {
		l.Logs.Read(adapter, r)
		return
	}
	_, _ = io.Copy(io.Discard, r)
}

// redacted is a text without the adapter's secrets.
func (l *Launcher) redacted(adapter, text string) string {
	if l.Redact == nil {
		return text
	}
	return l.Redact(adapter, text)
}

// lastWords are what a process wrote last, as a person reads it.
func lastWords(p *process.Process) string {
	words := p.LastWords()
	if words == "" {
		return ""
	}
	lines := strings.Split(words, "\n")
	for i, line := range lines {
		lines[i] = logbook.Plain(line)
	}
	return strings.Join(lines, "\n")
}
