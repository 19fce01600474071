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

// request is one tools/call, whichever way it came.
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

// callTool answers a tools/call that came through the SDK.
func (f *Face) callTool(ctx context.Context, o *origin, req *mcpsdk.CallToolRequest) (reply, *jsonrpc.Error) {
	e := o.envelopeOf(req.Extra)
	r := &request{
		call: tool.Call{
			Op: tool.OpTool, Name: req.Params.Name, Principal: o.principal,
			Client: clientOf(o, e, req),
		},
		args: e.arguments, state: e.state, answers: e.answers, doubled: e.doubled,
	}
	run, _ := textOf(e.run)
	key, _ := textOf(e.call)
	if e.params == nil { // of a batch, whose protocol version has no rounds
		if req.Params.RequestState != "" {
			return nil, invalidParams(invalidState)
		}
		r.args = req.Params.Arguments
		run, _ = req.Params.Meta[metaRun].(string)
		key, _ = req.Params.Meta[metaCall].(string)
	}
	var header http.Header
	if req.Extra != nil {
		header = req.Extra.Header
	}
	f.keys(o, &r.call, run, key, header)
	if o.mark != "" {
		f.clients.meet(o.mark, r.call.Client)
	}
	if r.call.Client.Progress || r.call.Client.LogLevel != "" {
		r.notify = sessionSink{req.Session, progressToken(e, req)}
	}
	return f.call(ctx, r)
}

// call runs one tools/call through the executor.
func (f *Face) call(ctx context.Context, r *request) (reply, *jsonrpc.Error) {
	if failed := r.round(); failed != nil {
		return nil, failed
	}
	out, err := f.do(ctx, r)
	var res reply
	if err == nil {
		var failed *tool.Error
		if res, failed = f.outcome(&r.call, out); failed != nil {
			f.log.Error("outcome cannot be given to an MCP client", "tool", r.call.Name, "error", failed)
			err = failed
		}
	}
	if err != nil {
		failed, protocol := failure(err)
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
		wrapped := false
		if out.Structured != nil {
			l := f.listed.now().find(c.Name)
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
func clientOf(o *origin, e *envelope, req *mcpsdk.CallToolRequest) tool.Client {
	c := tool.Client{Protocol: req.ProtocolVersion(), Progress: progressToken(e, req) != nil}
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
	c.LogLevel = logLevel(o, c, req)
	return c
}

// logLevel returns the least severe log message that the client is to get:
// asked for in each request of 2026-07-28, before that once for a stdio
// connection. An older client over stateless HTTP cannot ask; it gets what is
// at least "info" when the answer is a stream anyway (which the SDK holds to).
func logLevel(o *origin, c tool.Client, req *mcpsdk.CallToolRequest) string {
	if modern(c.Protocol) {
		level, _ := req.Params.Meta[mcpsdk.MetaKeyLogLevel].(string)
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
func progressToken(e *envelope, req *mcpsdk.CallToolRequest) json.RawMessage {
	if token := e.progressToken(); token != nil {
		return token
	}
	if e.params != nil {
		return nil
	}
	switch token := req.Params.GetProgressToken().(type) {
	case string, float64:
		raw, _ := marshal(token) // strings and finite numbers always marshal
		return raw
	default:
		return nil
	}
}
