// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// request is one call, whichever way it came.
type request struct {
	call tool.Call
	// args are the arguments as sent, nil if there are none.
	args json.RawMessage
	// state and answers are what it brings back from an earlier round, as
	// sent, nil if it is the first.
	state, answers json.RawMessage
	// doubled is a key that the request has twice, if it has one.
	doubled string
	// notify tells the client of progress and logs; nil: it does not listen.
	notify sink
}

// sdkRequest is a request that came through the SDK, as far as every call looks at
// it.
type sdkRequest interface {
	ProtocolVersion() string
	ClientInfo() *mcpsdk.Implementation
	ClientCapabilities() *mcpsdk.ClientCapabilities
	GetExtra() *mcpsdk.RequestExtra
}

// asked is what a request says beside what its method is about: meta and state as
// the SDK has read them, for a request without an envelope.
type asked struct {
	sdkRequest

	session *mcpsdk.ServerSession
	meta    mcpsdk.Meta
	state   string
}

// callTool answers a tools/call that came through the SDK.
func (f *Face) callTool(ctx context.Context, o *origin, req *mcpsdk.CallToolRequest) (reply, *jsonrpc.Error) {
	r, failed := f.requested(o, tool.OpTool, req.Params.Name, asked{req, req.Session, req.Params.Meta, req.Params.RequestState})
	if failed != nil {
		return nil, failed
	}
	if o.envelopeOf(req.Extra).params == nil {
		r.args = req.Params.Arguments
	}
	if o.mark != "" {
		f.clients.meet(o.mark, r.call.Client)
	}
	return f.call(ctx, r)
}

// requested is a request that came through the SDK.
func (f *Face) requested(o *origin, op tool.Op, name string, a asked) (*request, *jsonrpc.Error) {
	e := o.envelopeOf(a.GetExtra())
	r := &request{
		call: tool.Call{
			Op: op, Name: name, Principal: o.principal, Client: clientOf(o, e, a), Trace: o.traceOf(e),
		},
		args: e.arguments, state: e.state, answers: e.answers, doubled: e.doubled,
	}
	run, _ := textOf(e.run)
	key, _ := textOf(e.call)
	if e.params == nil { // of a batch, whose protocol version has no rounds
		if a.state != "" {
			return nil, invalidParams(invalidState)
		}
		run, _ = a.meta[metaRun].(string)
		key, _ = a.meta[metaCall].(string)
	}
	var header http.Header
	if extra := a.GetExtra(); extra != nil {
		header = extra.Header
	}
	f.keys(o, &r.call, run, key, header)
	if r.call.Client.Progress || r.call.Client.LogLevel != "" {
		r.notify = sessionSink{a.session, progressToken(e, a.meta)}
	}
	return r, nil
}

// call runs one call through the executor.
func (f *Face) call(ctx context.Context, r *request) (reply, *jsonrpc.Error) {
	if failed := r.round(); failed != nil {
		return nil, failed
	}
	out, err := f.do(ctx, r)
	var res reply
	if err == nil {
		var failed *tool.Error
		if p, pending := out.(*tool.Pending); pending && r.call.Op != tool.OpTool {
			return nil, pendingRefusal(p)
		}
		if res, failed = f.outcome(&r.call, out); failed != nil {
			f.log.Error("outcome cannot be given to an MCP client", "name", r.call.PublicName(), "error", failed)
			err = failed
		}
	}
	if err != nil {
		if r.call.Op != tool.OpTool {
			return nil, refusal(r.call.Op, err)
		}
		failed, protocol := failure(err, r.call.Client.Protocol)
		if protocol != nil {
			return nil, protocol
		}
		res = failed
	}
	res.complete(r.call.Client.Protocol, f.info)
	return res, nil
}

func (f *Face) do(ctx context.Context, r *request) (tool.Outcome, error) {
	args, err := parseArgs(r)
	if err != nil {
		return nil, f.config.Executor.Reject(ctx, &r.call, tool.AsError(err))
	}
	r.call.Args = args
	if r.notify != nil {
		relay := newRelay(ctx, r.notify)
		defer relay.close(ctx)
		r.call.Events = relay.offer
	}
	return f.config.Executor.Do(ctx, &r.call)
}

// parseArgs reads the arguments from the bytes that were sent. null stands for
// none: clients in the field send it.
func parseArgs(r *request) (tool.JSON, error) {
	if r.doubled != "" {
		return tool.JSON{}, tool.Errorf(tool.ArgsInvalid, "invalid_args", "the request has the key %q twice", r.doubled)
	}
	if string(r.args) == "null" {
		return tool.ParseArgs(nil)
	}
	return tool.ParseArgs(r.args)
}

// outcome turns what came of a call into a result. Before 2026-07-28 a client
// could only be asked within a session, and there are none here; the executor
// does not ask it, and if it did the client would take the question for an
// empty result.
func (f *Face) outcome(c *tool.Call, out tool.Outcome) (reply, *tool.Error) {
	switch out := out.(type) {
	case *tool.Result:
		if c.Op != tool.OpTool {
			return given(readOf(c.Op, out))
		}
		wrapped := false
		if out.Structured != nil {
			l := f.listed.now().find(c.Name, c.Principal)
			wrapped = l != nil && l.wrapped
		}
		return given(resultOf(out, wrapped))
	case *tool.Pending:
		return pendingOf(out), nil
	case *tool.Question:
		if !modern(c.Client.Protocol) {
			return nil, tool.Failed("input_required_unsupported", nil)
		}
		return given(questionOf(out))
	default:
		return nil, tool.Failed("no_outcome", nil)
	}
}

// given returns a reply or an error, neither of them a nil in an interface.
func given[R reply](res R, err *tool.Error) (reply, *tool.Error) {
	if err != nil {
		return nil, err
	}
	return res, nil
}

// clientOf returns what a request says about the client that sent it.
func clientOf(o *origin, e *envelope, req asked) tool.Client {
	c := tool.Client{Protocol: req.ProtocolVersion(), Progress: progressToken(e, req.meta) != nil}
	if info := req.ClientInfo(); info != nil {
		c.Name, c.Version = info.Name, info.Version
	}
	switch {
	case e.capabilities != nil && json.Valid(e.capabilities):
		c.Capabilities = e.capabilities
	default:
		if capabilities := req.ClientCapabilities(); capabilities != nil {
			c.Capabilities, _ = marshal(capabilities) // it has been decoded from JSON
		}
	}
	c.LogLevel = logLevel(o, c, req.meta)
	return c
}

// logLevel returns the least severe log message that the client is to get:
// asked for in each request of 2026-07-28, before that once for a stdio
// connection. An older client over stateless HTTP cannot ask; it gets what is
// at least "info" when the answer is a stream anyway (which the SDK holds to).
func logLevel(o *origin, c tool.Client, meta mcpsdk.Meta) string {
	if modern(c.Protocol) {
		level, _ := meta[mcpsdk.MetaKeyLogLevel].(string)
		return level
	}
	if level, ok := o.level.Load().(string); ok {
		return level
	}
	if !o.stdio && c.Progress {
		return "info"
	}
	return ""
}

// progressToken returns the token as sent; of a request without an envelope as
// the SDK has decoded it.
func progressToken(e *envelope, meta mcpsdk.Meta) json.RawMessage {
	if token := e.progressToken(); token != nil {
		return token
	}
	if e.params != nil {
		return nil
	}
	switch token := meta["progressToken"].(type) {
	case string, float64:
		raw, _ := marshal(token) // strings and finite numbers always marshal
		return raw
	default:
		return nil
	}
}
