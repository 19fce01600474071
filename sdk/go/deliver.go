// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"fmt"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

const (
	// wholeBytes is the largest result that goes as one message.
	wholeBytes = 1 << 20
	// partBytes is the size of the parts of a larger one.
	partBytes = 256 << 10
	// messageBytes is the largest gRPC message, in both directions.
	messageBytes = 16 << 20
	// blockBytes is the largest block of content: it cannot be parted, and its
	// message has more in it than the block.
	blockBytes = messageBytes - 64<<10
)

// fits says whether the host will accept the result. A limit of zero is none.
func (r *Result) fits(limit int64) error {
	if n := int64(r.size()); limit > 0 && n > limit {
		return tooLarge(fmt.Sprintf("the result has %d bytes, the limit is %d", n, limit))
	}
	for _, c := range r.Content {
		if n := c.size(); n > blockBytes {
			return tooLarge(fmt.Sprintf("a block of the result has %d bytes, the limit is %d", n, blockBytes))
		}
	}
	return nil
}

func tooLarge(text string) *Error {
	return &Error{Kind: KindResultTooLarge, Code: "result_too_large", Text: text, Ran: RanYes}
}

// deliver sends the result: in one message, or its parts before a message that
// ends it.
func (r *Result) deliver(send func(*pluginv1.CallToolResponse) error) error {
	last := &pluginv1.ToolResult{Meta: r.Meta}
	if r.Cost != "" {
		last.Usage = &pluginv1.Usage{Cost: valid(r.Cost)}
	}
	if r.size() <= wholeBytes {
		if len(r.Structured) > 0 {
			last.Structured = r.Structured
		}
		for _, c := range r.Content {
			if c.wire != nil {
				last.Content = append(last.Content, c.wire)
			}
		}
		return send(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Result{Result: last}})
	}
	for rest := r.Structured; len(rest) > 0; {
		n := min(partBytes, len(rest))
		if err := send(part(&pluginv1.ResultPart{Part: &pluginv1.ResultPart_Structured{Structured: rest[:n]}})); err != nil {
			return err
		}
		rest = rest[n:]
	}
	for _, c := range r.Content {
		if c.wire == nil {
			continue
		}
		if err := send(part(&pluginv1.ResultPart{Part: &pluginv1.ResultPart_Content{Content: c.wire}})); err != nil {
			return err
		}
	}
	return send(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Result{Result: last}})
}

func part(p *pluginv1.ResultPart) *pluginv1.CallToolResponse {
	return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Part{Part: p}}
}
