// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// traceParent is version 00 of the header of that name.
var traceParent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// traceOf is the trace context of a request, as far as it is one (W3C Trace
// Context; MCP 2026-07-28, basic, _meta).
func traceOf(e *envelope) tool.Trace {
	text := func(raw json.RawMessage, most int) string {
		s, ok := textOf(raw)
		if !ok || len(s) > most || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
			return ""
		}
		return s
	}
	t := tool.Trace{Parent: text(e.trace.parent, 128), State: text(e.trace.state, 512), Baggage: text(e.trace.baggage, 8192)}
	if !traceParent.MatchString(t.Parent) {
		t.Parent, t.State = "", "" // a state belongs to a parent
	}
	return t
}
