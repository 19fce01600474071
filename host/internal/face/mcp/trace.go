// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// traceParent is version 00 of the header of that name.
var traceParent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// traceOf is the trace context of a request, as far as it is one: that of its _meta
// (MCP 2026-07-28, basic), else that of its HTTP headers (W3C Trace Context).
func (o *origin) traceOf(e *envelope) tool.Trace {
	text := func(raw json.RawMessage) string {
		s, _ := textOf(raw)
		return s
	}
	t := traced(text(e.trace.parent), text(e.trace.state), text(e.trace.baggage))
	if t == (tool.Trace{}) {
		return o.trace
	}
	return t
}

// traceOfHeader is the trace context of an HTTP request.
func traceOfHeader(h http.Header) tool.Trace {
	return traced(h.Get("Traceparent"), h.Get("Tracestate"), h.Get("Baggage"))
}

func traced(parent, state, baggage string) tool.Trace {
	fit := func(s string, most int) string {
		if len(s) > most || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
			return ""
		}
		return s
	}
	t := tool.Trace{Parent: fit(parent, 128), State: fit(state, 512), Baggage: fit(baggage, 8192)}
	if !traceParent.MatchString(t.Parent) {
		t.Parent, t.State = "", "" // a state belongs to a parent
	}
	return t
}
