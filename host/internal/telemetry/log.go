// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package telemetry is what the host says about itself: its log. One logger,
// hclog, since plugins' logs come in its form; packages that know only log/slog
// get a handler for it.
package telemetry

import (
	"context"
	"io"
	"log/slog"
	"os"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/term"
)

// Options of the log.
type Options struct {
	// Level is "trace", "debug", "info", "warn", "error" or "off"; "" is "info".
	Level string
	// Format is "text", "json", or "" for text on a terminal, JSON elsewhere.
	Format string
	// Out is where it goes: never stdout, which belongs to the protocol.
	Out io.Writer
}

// NewLog returns the host's logger.
func NewLog(o Options) hclog.Logger {
	json := o.Format == "json"
	if o.Format == "" {
		json = !terminal(o.Out)
	}
	level := hclog.LevelFromString(o.Level)
	if level == hclog.NoLevel {
		level = hclog.Info
	}
	return hclog.New(&hclog.LoggerOptions{
		Name: "toolwharf", Level: level, Output: o.Out, JSONFormat: json,
		// What go-plugin says louder than it is meant: that there is no stdio
		// stream, and that a process ended, which the adapter's life words.
		Exclude: hclog.ExcludeFuncs{
			hclog.ExcludeByPrefix("stdio service not available").Exclude,
			hclog.ExcludeByPrefix("stdio service unavailable").Exclude,
			hclog.ExcludeByPrefix("plugin process exited").Exclude,
			hclog.ExcludeByPrefix("error closing client during Kill").Exclude,
			hclog.ExcludeByPrefix("plugin failed to exit gracefully").Exclude,
		}.Exclude,
	})
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Slog returns a log/slog logger that writes to l.
func Slog(l hclog.Logger) *slog.Logger { return slog.New(&handler{log: l}) }

// handler hands slog records to hclog. Attributes of a group are named
// "group.attribute".
type handler struct {
	log   hclog.Logger
	group string
}

// Enabled reports whether the level is written.
func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	return h.log.GetLevel() <= toHclog(level)
}

// Handle writes one record.
func (h *handler) Handle(_ context.Context, r slog.Record) error {
	var args []any
	r.Attrs(func(a slog.Attr) bool {
		args = h.append(args, h.group, a)
		return true
	})
	h.log.Log(toHclog(r.Level), r.Message, args...)
	return nil
}

// WithAttrs returns a handler that adds attributes.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var args []any
	for _, a := range attrs {
		args = h.append(args, h.group, a)
	}
	return &handler{log: h.log.With(args...), group: h.group}
}

// WithGroup returns a handler that prefixes attributes.
func (h *handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return &handler{log: h.log, group: h.group + name + "."}
}

func (h *handler) append(args []any, prefix string, a slog.Attr) []any {
	v := a.Value.Resolve()
	if v.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range v.Group() {
			args = h.append(args, prefix, inner)
		}
		return args
	}
	return append(args, prefix+a.Key, v.Any())
}

func toHclog(l slog.Level) hclog.Level {
	switch {
	case l < slog.LevelDebug:
		return hclog.Trace
	case l < slog.LevelInfo:
		return hclog.Debug
	case l < slog.LevelWarn:
		return hclog.Info
	case l < slog.LevelError:
		return hclog.Warn
	default:
		return hclog.Error
	}
}
