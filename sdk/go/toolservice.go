// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"log/slog"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// toolService runs tools.
type toolService struct {
	pluginv1.UnimplementedToolServiceServer
	core     *core
	log      *slog.Logger
	sessions *sessions
}

type toolStream = grpc.ServerStreamingServer[pluginv1.CallToolResponse]

func (s *toolService) CallTool(req *pluginv1.CallToolRequest, stream toolStream) error {
	used, ok := s.sessions.acquire()
	if !ok {
		return status.Error(codes.FailedPrecondition, "CallTool before Configure has succeeded")
	}
	defer s.sessions.release(used, s.log)
	out := &outlet{stream: stream}
	defer out.close()

	run := &running{
		call: callOf(req.GetContext()), adapter: &used.adapter, send: out.send, log: s.log,
		answers: req.GetAnswers(), state: req.GetState(),
	}
	ctx := context.WithValue(stream.Context(), callKey{}, run)
	result, err := s.core.run(ctx, run, req.GetTool(), used.state, req.GetArguments())
	if err == nil {
		err = result.fits(used.adapter.Limits.MaxResultBytes)
	}
	if err != nil {
		return out.send(ending(ctx, err))
	}
	return result.deliver(out.send)
}

// ending is the last message of a call that came to no result: a question or an
// error.
func ending(ctx context.Context, err error) *pluginv1.CallToolResponse {
	question, err := asked(err)
	if err != nil {
		return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Error{Error: callError(ctx, err)}}
	}
	return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_InputRequired{InputRequired: question}}
}

// run runs one tool; a panic of it is an error.
func (c *core) run(ctx context.Context, r *running, name string, state any, args []byte) (result *Result, err error) {
	t := c.byName[name]
	if t == nil {
		return nil, &Error{Kind: KindToolFailed, Code: "unknown_tool", Detail: "the plugin has no tool " + name, Ran: RanNo}
	}
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, panicked(r.log.With("tool", name, "call_id", r.call.ID), "a tool", p)
		}
	}()
	return t.call(ctx, state, args)
}

func callOf(c *pluginv1.CallContext) Call {
	return Call{
		ID:                 c.GetCallId(),
		Attempt:            int(c.GetAttempt()),
		RunID:              c.GetRunId(),
		ProtocolVersion:    c.GetProtocolVersion(),
		ClientCapabilities: c.GetClientCapabilities(),
		LogLevel:           levelOf(c.GetLogLevel()),
		WantsProgress:      c.GetWantsProgress(),
		Principal:          c.GetPrincipal(),
	}
}

// outlet is the stream of one call: handlers may send progress from several
// goroutines, and some of them too late.
type outlet struct {
	mu     sync.Mutex
	stream toolStream
	closed bool
}

func (o *outlet) send(m *pluginv1.CallToolResponse) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	return o.stream.Send(m)
}

func (o *outlet) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}
