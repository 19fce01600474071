// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// maxURI is the longest URI that is looked for, in bytes.
const maxURI = 4 << 10

// readResource answers a resources/read (MCP 2026-07-28, server/resources).
func (f *Face) readResource(ctx context.Context, o *origin, req *mcpsdk.ReadResourceRequest) (reply, *jsonrpc.Error) {
	p := req.Params
	if len(p.URI) > maxURI {
		return nil, invalidParams("the URI has more than %d bytes", maxURI)
	}
	r, failed := f.requested(o, tool.OpResource, p.URI, asked{req, req.Session, p.Meta, p.RequestState})
	if failed != nil {
		return nil, failed
	}
	r.args = nil
	return f.call(ctx, r)
}

// getPrompt answers a prompts/get (MCP 2026-07-28, server/prompts).
func (f *Face) getPrompt(ctx context.Context, o *origin, req *mcpsdk.GetPromptRequest) (reply, *jsonrpc.Error) {
	p := req.Params
	r, failed := f.requested(o, tool.OpPrompt, p.Name, asked{req, req.Session, p.Meta, p.RequestState})
	if failed != nil {
		return nil, failed
	}
	if r.args == nil && len(p.Arguments) > 0 {
		r.args, _ = marshal(p.Arguments) // strings always marshal
	}
	return f.call(ctx, r)
}

// complete answers a completion/complete (MCP 2026-07-28,
// server/utilities/completion).
func (f *Face) complete(ctx context.Context, o *origin, req *mcpsdk.CompleteRequest) (reply, *jsonrpc.Error) {
	p := req.Params
	if p.Ref == nil {
		return nil, invalidParams("a completion without ref")
	}
	name := tool.PromptName(p.Ref.Name)
	if p.Ref.Type == "ref/resource" {
		name = tool.ResourceName(p.Ref.URI)
	}
	r, failed := f.requested(o, tool.OpCompletion, name, asked{req, req.Session, p.Meta, ""})
	if failed != nil {
		return nil, failed
	}
	in := tool.Completing{Argument: p.Argument.Name, Value: p.Argument.Value}
	if p.Context != nil {
		in.Resolved = p.Context.Arguments
	}
	r.args, _ = marshal(in) // strings always marshal
	r.state, r.answers = nil, nil
	return f.call(ctx, r)
}

// readResult is an MCP ReadResourceResult, GetPromptResult or CompleteResult. It is
// ours for the same reasons as callResult.
type readResult struct {
	tail

	// members are those of the result, beginning with a brace.
	members []byte
	// cached: it says how long it may be kept, to clients that expect it.
	cached bool
}

// MarshalJSON writes the result.
func (r *readResult) MarshalJSON() ([]byte, error) { return r.append(make([]byte, 0, r.size())) }

func (r *readResult) size() int { return len(r.members) + len(r.server) + 256 }

func (r *readResult) append(b []byte) ([]byte, error) {
	b = append(b, r.members...)
	if r.cached && r.resultType != "" {
		b = fmt.Appendf(b, `,"ttlMs":%d,"cacheScope":"%s"`, listTTL, scope)
	}
	return r.tail.append(b)
}

var _ reply = (*readResult)(nil)

// readOf returns what was read, a prompt or a completion as clients see it.
func readOf(op tool.Op, out *tool.Result) (*readResult, *tool.Error) {
	res := &readResult{cached: op == tool.OpResource}
	err := res.metaOf(out)
	if err != nil {
		return nil, unreadable(err)
	}
	switch {
	case out.Completion != nil:
		res.members = completionMembers(out.Completion)
	case op == tool.OpPrompt:
		res.members, err = promptMembers(out)
	default:
		res.members, err = contentsMembers(out.Content)
	}
	if err != nil {
		return nil, unreadable(err)
	}
	return res, nil
}

func contentsMembers(blocks []tool.Content) ([]byte, error) {
	b := []byte(`{"contents":[`)
	for i, block := range blocks {
		c, ok := block.(*tool.Embedded)
		if !ok {
			return nil, fmt.Errorf("contents %d: of type %T", i, block)
		}
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendContents(b, c); err != nil {
			return nil, fmt.Errorf("contents %d: %w", i, err)
		}
	}
	return append(b, ']'), nil
}

func promptMembers(r *tool.Result) ([]byte, error) {
	if len(r.Roles) != len(r.Content) {
		return nil, fmt.Errorf("%d roles for %d messages", len(r.Roles), len(r.Content))
	}
	b := []byte(`{"messages":[`)
	for i, block := range r.Content {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(append(b, `{"role":`...), r.Roles[i]), `,"content":`...)
		var err error
		if b, err = appendBlock(b, block); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		b = append(b, '}')
	}
	return appendMember(append(b, ']'), "description", r.Description), nil
}

func completionMembers(c *tool.Completion) []byte {
	values := c.Values
	if values == nil {
		values = []string{}
	}
	raw, _ := marshal(values) // strings always marshal
	b := append([]byte(`{"completion":{"values":`), raw...)
	if c.Total != nil {
		b = strconv.AppendInt(append(b, `,"total":`...), int64(*c.Total), 10)
	}
	if c.More {
		b = append(b, `,"hasMore":true`...)
	}
	return append(b, '}')
}
