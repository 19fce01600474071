// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"encoding/json"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// Result is for handlers that want to say themselves what the client gets. A
// handler that returns any other type has its value marshalled as Structured.
type Result struct {
	// Content is what the model reads. Without it the host gives Structured as
	// one text block.
	Content []Content
	// Structured is any JSON value that fits the tool's [OutputSchema]; nil: none.
	Structured json.RawMessage
	// Meta is one JSON object, given to the client as `_meta`; nil: none.
	Meta json.RawMessage
	// Cost is what the call cost beyond the configured cost: an exact decimal in
	// the unit of the operator's budget, for example "0.004". Empty: nothing.
	Cost string
}

// TextResult is a Result of one text block.
func TextResult(text string) Result { return Result{Content: []Content{Text(text)}} }

func (r *Result) size() int {
	n := len(r.Structured)
	for _, c := range r.Content {
		n += c.size()
	}
	return n
}

// bare is the result without what may be parted.
func (r *Result) bare() *pluginv1.ToolResult {
	out := &pluginv1.ToolResult{Meta: r.Meta}
	if r.Cost != "" {
		out.Usage = &pluginv1.Usage{Cost: valid(r.Cost)}
	}
	return out
}

// wire is the whole result.
func (r *Result) wire() *pluginv1.ToolResult {
	out := r.bare()
	if len(r.Structured) > 0 {
		out.Structured = r.Structured
	}
	for _, c := range r.Content {
		if c.wire != nil {
			out.Content = append(out.Content, c.wire)
		}
	}
	return out
}

// resultOf is a result that another adapter has sent.
func resultOf(w *pluginv1.ToolResult) Result {
	r := Result{Structured: w.GetStructured(), Meta: w.GetMeta(), Cost: w.GetUsage().GetCost()}
	for _, c := range w.GetContent() {
		r.Content = append(r.Content, Content{c})
	}
	return r
}
