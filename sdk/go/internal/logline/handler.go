// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package logline writes log records as the JSON lines that go-plugin hosts
// read from a plugin's stderr (hclog's form):
//
//	{"@timestamp":"...","@level":"info","@message":"...","@module":"sql","rows":3}
package logline

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
)

// New returns a handler that writes to w, one Write per line, no line longer
// than [MaxLine]. Module names who speaks.
func New(w io.Writer, module string, level slog.Leveler) slog.Handler {
	json := slog.NewJSONHandler(cutter{w}, &slog.HandlerOptions{Level: level, ReplaceAttr: rename})
	return &handler{json.WithAttrs([]slog.Attr{slog.String(mark+"@module", module)}), false}
}

// mark stands before keys that rename leaves alone: slog calls its own
// attributes "msg", "level" and "time", and so may others.
const mark = "\x00"

// handler marks attributes whose keys slog uses itself.
type handler struct {
	slog.Handler
	grouped bool // keys of slog's own are at the root only
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if !h.grouped && slices.ContainsFunc(attrs, reserved) {
		attrs = slices.Clone(attrs)
		for i := range attrs {
			attrs[i] = marked(attrs[i])
		}
	}
	return &handler{h.Handler.WithAttrs(attrs), h.grouped}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.grouped || name != ""}
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if !h.grouped {
		found := false
		r.Attrs(func(a slog.Attr) bool {
			found = found || reserved(a)
			return !found
		})
		if found {
			c := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
			r.Attrs(func(a slog.Attr) bool {
				c.AddAttrs(marked(a))
				return true
			})
			r = c
		}
	}
	return h.Handler.Handle(ctx, r)
}

func reserved(a slog.Attr) bool {
	switch a.Key {
	case slog.TimeKey, slog.LevelKey, slog.MessageKey:
		return true
	}
	return false
}

func marked(a slog.Attr) slog.Attr {
	if reserved(a) {
		a.Key = mark + a.Key
	}
	return a
}

// timeLayout is hclog's.
const timeLayout = "2006-01-02T15:04:05.000000Z07:00"

// rename gives slog's own attributes hclog's names, and takes these from
// everybody else.
func rename(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	switch a.Key {
	case slog.TimeKey:
		return slog.String("@timestamp", a.Value.Time().Format(timeLayout))
	case slog.LevelKey:
		l, _ := a.Value.Any().(slog.Level)
		return slog.String("@level", level(l))
	case slog.MessageKey:
		a.Key = "@message"
		return a
	}
	if key, ok := strings.CutPrefix(a.Key, mark); ok {
		a.Key = key
	} else {
		a.Key = strings.TrimLeft(a.Key, "@")
	}
	return a
}

func level(l slog.Level) string {
	switch {
	case l < slog.LevelDebug:
		return "trace"
	case l < slog.LevelInfo:
		return "debug"
	case l < slog.LevelWarn:
		return "info"
	case l < slog.LevelError:
		return "warn"
	}
	return "error"
}
