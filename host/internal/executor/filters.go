// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"unicode/utf8"

	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// filter judges and changes a result: after hooks, output check, cap, and last
// redaction.
func (x *Executor) filter(ctx context.Context, c *tool.Case, p *Policy, offer *registry.Offer, r *tool.Result) *tool.Error {
	if err := x.after(ctx, c, p, r); err != nil {
		err.Sent, err.Ran = true, tool.RanYes
		return err
	}
	for _, f := range []Filter{checkOutput{offer}, capResult{x.MaxResult}} {
		if err := f.Apply(ctx, c, r); err != nil {
			e := tool.AsError(err)
			e.Sent, e.Ran = true, tool.RanYes
			if e.Kind == tool.ResultTooLarge {
				x.keep(c, p, r, e)
			}
			return e
		}
	}
	if x.Redactor != nil {
		x.Redactor.Outcome(c.Spec.Adapter, r)
	}
	return nil
}

// checkOutput holds a result to the tool's output schema: a client may rely on
// it (MCP 2026-07-28, server/tools, Output Schema).
type checkOutput struct{ offer *registry.Offer }

func (f checkOutput) Apply(_ context.Context, c *tool.Case, r *tool.Result) error {
	if f.offer.Output == nil {
		return nil
	}
	if r.Structured == nil {
		return tool.Errorf(tool.OutputInvalid, "output_invalid",
			"%s declares structured content and returned none", c.Spec.Name)
	}
	return f.offer.Output.ValidateValue(r.Structured)
}

// capResult bounds what is given to a client. Text is cut; anything else that
// is too large is refused, since half of it would mean something else.
type capResult struct{ max int }

const cutMark = "\n[cut: the result was longer than this host gives]"

func (f capResult) Apply(_ context.Context, c *tool.Case, r *tool.Result) error {
	if f.max <= 0 {
		return nil
	}
	left := f.max - len(r.Structured) - len(r.Description)
	if r.Completion != nil {
		for _, v := range r.Completion.Values {
			left -= len(v)
		}
	}
	if left < 0 {
		return tool.Errorf(tool.ResultTooLarge, "result_too_large",
			"the result of %s has %d bytes, at most %d are given; ask for less", c.Spec.Name, f.max-left, f.max)
	}
	for i, block := range r.Content {
		if t, isText := block.(*tool.Text); isText && len(t.Text) > left && left >= 0 {
			cut := *t
			cut.Text = cutText(t.Text, left)
			r.Content[i], block = &cut, &cut
		}
		left -= size(block)
		if left < 0 {
			return tool.Errorf(tool.ResultTooLarge, "result_too_large",
				"the result of %s has more than %d bytes; ask for less", c.Spec.Name, f.max)
		}
	}
	return nil
}

// cutText returns at most max bytes of s, whole characters, with a mark where
// there is room for it.
func cutText(s string, max int) string {
	room := max - len(cutMark)
	mark := cutMark
	if room < 0 {
		room, mark = max, ""
	}
	for room > 0 && !utf8.RuneStart(s[room]) {
		room--
	}
	return s[:room] + mark
}

// size of a block that is not text, in bytes as sent to a client: base64 for
// what is binary.
func size(block tool.Content) int {
	switch b := block.(type) {
	case *tool.Text:
		return len(b.Text)
	case *tool.Blob:
		return (len(b.Data) + 2) / 3 * 4
	case *tool.Embedded:
		return len(b.Text) + (len(b.Blob)+2)/3*4
	case *tool.Link:
		return len(b.URI) + len(b.Name) + len(b.Title) + len(b.Description)
	default:
		return 0
	}
}
