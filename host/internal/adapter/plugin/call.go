// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// maxParts bounds a result that comes in parts, in bytes. It is above every
// result that is given to a client, so that the executor's cap speaks first.
const maxParts = 2 * MaxMessage

// maxLog is the longest log message that is handed on, in bytes: many of them
// may wait for a slow client.
const maxLog = 16 << 10

// Run calls one tool, reads one resource, makes one prompt, completes a value or
// asks about another adapter's call.
func (in *instance) Run(ctx context.Context, a *tool.Attempt) (tool.Outcome, error) {
	select {
	case <-in.process.Done():
		return nil, in.unavailable(false, errors.New("the process has ended"))
	default:
	}
	ctx, cancel := context.WithCancel(traced(ctx, a.Trace)) // ends the stream on every way out
	defer cancel()
	out, err := in.dispatch(ctx, a)
	if err != nil {
		if said, ok := errors.AsType[*tool.Error](err); ok {
			return nil, said
		}
		return nil, in.callError(ctx, err)
	}
	return out, nil
}

func (in *instance) dispatch(ctx context.Context, a *tool.Attempt) (tool.Outcome, error) {
	switch a.Op {
	case tool.OpTool:
		r := in.request(a)
		if err := fits(r); err != nil {
			return nil, err
		}
		stream, err := pluginv1.NewToolServiceClient(in.conn).CallTool(ctx, r)
		if err != nil {
			return nil, err
		}
		return receive(stream, a, new(assembly))
	case tool.OpResource:
		stream, err := pluginv1.NewResourceServiceClient(in.conn).ReadResource(ctx, in.readRequest(a))
		if err != nil {
			return nil, err
		}
		return receive(stream, a, new(reading))
	case tool.OpPrompt:
		r, err := in.promptRequest(a)
		if err == nil {
			err = fits(r)
		}
		if err != nil {
			return nil, err
		}
		stream, err := pluginv1.NewPromptServiceClient(in.conn).GetPrompt(ctx, r)
		if err != nil {
			return nil, err
		}
		return receive(stream, a, prompting{})
	case tool.OpCompletion:
		r, err := in.completeRequest(a)
		if err != nil {
			return nil, err
		}
		done, err := pluginv1.NewCompletionServiceClient(in.conn).Complete(ctx, r)
		if err != nil {
			return nil, err
		}
		return completion(done), nil
	case tool.OpBefore:
		r := in.beforeRequest(a)
		if err := fits(r); err != nil {
			return nil, err
		}
		judged, err := pluginv1.NewHookServiceClient(in.conn).BeforeTool(ctx, r)
		if err != nil {
			return nil, err
		}
		return before(judged)
	case tool.OpAfter:
		r := in.afterRequest(a)
		if err := fits(r); err != nil {
			return nil, err
		}
		judged, err := pluginv1.NewHookServiceClient(in.conn).AfterTool(ctx, r)
		if err != nil {
			return nil, err
		}
		return after(judged)
	default:
		return nil, tool.Failed("unsupported", fmt.Errorf("plugins serve no %s calls", a.Op))
	}
}

// fits reports arguments that are too large for a message; gRPC would say the same
// as of an answer that is.
func fits(r proto.Message) error {
	if proto.Size(r) > MaxMessage {
		return tool.Errorf(tool.ArgsInvalid, "args_too_large",
			"the arguments of this call are larger than the %d bytes that an adapter takes; send less", MaxMessage)
	}
	return nil
}

// traced carries the client's trace context to the plugin (W3C Trace Context).
func traced(ctx context.Context, t tool.Trace) context.Context {
	if t == (tool.Trace{}) {
		return ctx
	}
	var pairs []string
	for _, pair := range [][]string{{"traceparent", t.Parent}, {"tracestate", t.State}, {"baggage", t.Baggage}} {
		if pair[1] != "" {
			pairs = append(pairs, pair...)
		}
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

// message is what the streams of calls have in common.
type message interface {
	GetProgress() *pluginv1.Progress
	GetLog() *pluginv1.LogMessage
	GetInputRequired() *pluginv1.InputRequired
	GetError() *pluginv1.CallError
	GetProtocolError() *pluginv1.ProtocolError
}

// collector makes one result of what a stream says beside that. A message that it
// takes is one of its own; the last of them has the result.
type collector[M message] interface {
	take(M) (out *tool.Result, taken bool, err error)
}

// receive reads a stream up to its one end.
func receive[M message](stream interface{ Recv() (M, error) }, a *tool.Attempt, c collector[M]) (tool.Outcome, error) {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, broken(errors.New("the stream ended without a result"))
		}
		if err != nil {
			return nil, err
		}
		if out, taken, err := c.take(m); err != nil {
			return nil, err
		} else if out != nil {
			return out, nil
		} else if taken {
			continue
		}
		switch {
		case m.GetProgress() != nil || m.GetLog() != nil:
			tell(a, m)
		case m.GetInputRequired() != nil:
			return question(m.GetInputRequired())
		case m.GetError() != nil:
			return nil, callError(m.GetError())
		case m.GetProtocolError() != nil:
			return nil, protocolError(m.GetProtocolError())
		default:
			return nil, broken(errors.New("a message of an unknown kind"))
		}
	}
}

// tell hands on progress or a log message, if somebody listens.
func tell(a *tool.Attempt, m message) {
	if a.Events == nil {
		return
	}
	if p := m.GetProgress(); p != nil {
		if done := p.GetProgress(); number(&done) != nil {
			a.Events(&tool.Progress{
				Progress: done, Total: number(p.Total), //nolint:protogetter // presence matters
				Message: bounded(p.GetMessage()),
			})
		}
		return
	}
	l := m.GetLog()
	data := l.GetData()
	if len(data) > maxLog {
		data = fmt.Appendf(nil, `"a log message of %d bytes was left out"`, len(data))
	}
	if json.Valid(data) {
		a.Events(&tool.Log{Level: level(l.GetLevel()), Logger: bounded(l.GetLogger()), Data: data})
	}
}

// broken is a plugin that does not keep to the protocol.
func broken(err error) *tool.Error {
	e := tool.Failed("protocol_violation", err)
	e.Sent = true
	return e
}

func (in *instance) unavailable(sent bool, err error) *tool.Error {
	return &tool.Error{
		Kind: tool.AdapterUnavailable, Code: "adapter_unavailable", Sent: sent, Err: err,
		Text: fmt.Sprintf("adapter %s is not available", in.name),
	}
}

// early is how much sooner than here a deadline may be over in the plugin, which
// then gives the call up in words of its own.
const early = 50 * time.Millisecond

// awaitDeadline waits for a deadline that is as good as over.
func awaitDeadline(ctx context.Context) {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < early {
		<-ctx.Done()
	}
}

// callError words a gRPC status: machinery only, what a plugin says of a call
// comes in its own message.
func (in *instance) callError(ctx context.Context, err error) *tool.Error {
	awaitDeadline(ctx)
	if ctx.Err() != nil {
		e := tool.Interrupted(ctx, "adapter "+in.name+" was at work")
		e.Sent = true
		return e
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled, codes.Aborted:
		return in.unavailable(true, err)
	case codes.DeadlineExceeded:
		return &tool.Error{Kind: tool.Timeout, Code: "timeout", Text: "adapter " + in.name + " did not answer in time", Sent: true, Err: err}
	case codes.ResourceExhausted:
		return &tool.Error{
			Kind: tool.ResultTooLarge, Code: "message_too_large", Sent: true, Err: err,
			Text: fmt.Sprintf("the answer of adapter %s is larger than one message may be; ask for less", in.name),
		}
	case codes.Unimplemented:
		e := tool.Failed("not_implemented", err)
		return e
	default:
		e := tool.Failed("plugin", err)
		e.Sent = true
		return e
	}
}
