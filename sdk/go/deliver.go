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
	// aroundBytes is what a message may have in it besides one block.
	aroundBytes = 64 << 10
)

// message is the largest message that the host takes.
func (l Limits) message() int {
	if l.MaxMessageBytes > 0 {
		return int(min(l.MaxMessageBytes, messageBytes))
	}
	return messageBytes
}

// block is the largest block of content: it cannot be parted, and its message has
// more in it than the block.
func (l Limits) block() int { return l.message() - min(aroundBytes, l.message()/2) }

// whole and part are for results; see wholeBytes and partBytes.
func (l Limits) whole() int { return min(wholeBytes, l.block()) }
func (l Limits) part() int  { return min(partBytes, l.block()) }

// fitResult says whether the host will accept a result of that size. A limit of zero
// is none.
func (l Limits) fitResult(what string, size int, ran Ran) error {
	if l.MaxResultBytes > 0 && int64(size) > l.MaxResultBytes {
		return tooLarge(what, size, l.MaxResultBytes, ran)
	}
	return nil
}

// fitMessage says whether something that cannot be parted fits into a message.
func (l Limits) fitMessage(what string, size int, ran Ran) error {
	if size > l.block() {
		return tooLarge(what, size, int64(l.block()), ran)
	}
	return nil
}

// fitWhole is for results that cannot be parted.
func (l Limits) fitWhole(what string, size int, ran Ran) error {
	if err := l.fitResult(what, size, ran); err != nil {
		return err
	}
	return l.fitMessage(what, size, ran)
}

func tooLarge(what string, size int, limit int64, ran Ran) error {
	return &Error{
		Kind: KindResultTooLarge, Code: "result_too_large", Ran: ran,
		Text: fmt.Sprintf("the %s has %d bytes, the limit is %d", what, size, limit),
	}
}

// fits says whether the host will accept the result.
func (r *Result) fits(l Limits) error {
	if err := l.fitResult("result", r.size(), RanYes); err != nil {
		return err
	}
	for _, c := range r.Content {
		if err := l.fitMessage("block of the result", c.size(), RanYes); err != nil {
			return err
		}
	}
	return nil
}

// deliver sends the result: in one message, or its parts before a message that
// ends it.
func (r *Result) deliver(l Limits, send func(*pluginv1.CallToolResponse) error) error {
	if r.size() <= l.whole() {
		return send(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Result{Result: r.wire()}})
	}
	for rest := r.Structured; len(rest) > 0; {
		n := min(l.part(), len(rest))
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
	return send(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Result{Result: r.bare()}})
}

func part(p *pluginv1.ResultPart) *pluginv1.CallToolResponse {
	return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Part{Part: p}}
}

func (c Contents) size() int { return len(c.Text) + len(c.Blob) }

// readable says whether the host will accept what was read.
func readable(contents []Contents, l Limits) error {
	total := 0
	for _, c := range contents {
		total += c.size()
		if err := l.fitMessage("content of the resource", c.size(), RanNo); err != nil {
			return err
		}
	}
	return l.fitResult("resource", total, RanNo)
}

// deliverContents sends what was read: in one message, or each of the contents
// before a message that ends it.
func deliverContents(contents []Contents, l Limits, send func(*pluginv1.ReadResourceResponse) error) error {
	total := 0
	for _, c := range contents {
		total += c.size()
	}
	last := new(pluginv1.ReadResourceResult)
	for _, c := range contents {
		if total <= l.whole() {
			last.Contents = append(last.Contents, c.wire())
			continue
		}
		if err := send(&pluginv1.ReadResourceResponse{Message: &pluginv1.ReadResourceResponse_Part{Part: c.wire()}}); err != nil {
			return err
		}
	}
	return send(&pluginv1.ReadResourceResponse{Message: &pluginv1.ReadResourceResponse_Result{Result: last}})
}
