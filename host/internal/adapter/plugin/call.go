// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// maxParts bounds a result that comes in parts, in bytes. It is above every
// result that is given to a client, so that the executor's cap speaks first.
const maxParts = 2 * MaxMessage

// Run calls one tool.
func (in *instance) Run(ctx context.Context, a *tool.Attempt) (tool.Outcome, error) {
	if a.Op != tool.OpTool {
		return nil, tool.Failed("unsupported", fmt.Errorf("plugins serve no %s calls yet", a.Op))
	}
	select {
	case <-in.process.Done():
		return nil, in.unavailable(false, errors.New("the process has ended"))
	default:
	}
	ctx, cancel := context.WithCancel(ctx) // ends the stream on every way out
	defer cancel()
	r := request(a)
	if proto.Size(r) > MaxMessage { // gRPC would say the same as of an answer that is too large
		return nil, tool.Errorf(tool.ArgsInvalid, "args_too_large",
			"the arguments of this call are larger than the %d bytes that an adapter takes; send less", MaxMessage)
	}
	stream, err := pluginv1.NewToolServiceClient(in.conn).CallTool(ctx, r)
	if err != nil {
		return nil, in.callError(ctx, err)
	}
	out, err := in.receive(stream, a)
	if err != nil {
		if said, ok := errors.AsType[*tool.Error](err); ok {
			return nil, said
		}
		return nil, in.callError(ctx, err)
	}
	return out, nil
}

// receive reads the stream up to its one end.
func (in *instance) receive(stream grpc.ServerStreamingClient[pluginv1.CallToolResponse], a *tool.Attempt) (tool.Outcome, error) {
	var parts assembly
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, broken(errors.New("the stream ended without a result"))
		}
		if err != nil {
			return nil, err
		}
		switch m := m.GetMessage().(type) {
		case *pluginv1.CallToolResponse_Progress:
			if done := m.Progress.GetProgress(); a.Events != nil && number(&done) != nil {
				a.Events(&tool.Progress{
					Progress: done, Total: number(m.Progress.Total), //nolint:protogetter // presence matters
					Message: bounded(m.Progress.GetMessage()),
				})
			}
		case *pluginv1.CallToolResponse_Log:
			if a.Events != nil && json.Valid(m.Log.GetData()) {
				a.Events(&tool.Log{Level: level(m.Log.GetLevel()), Logger: bounded(m.Log.GetLogger()), Data: m.Log.GetData()})
			}
		case *pluginv1.CallToolResponse_Part:
			if err := parts.add(m.Part); err != nil {
				return nil, err
			}
		case *pluginv1.CallToolResponse_Result:
			return parts.result(m.Result)
		case *pluginv1.CallToolResponse_InputRequired:
			return question(m.InputRequired)
		case *pluginv1.CallToolResponse_Error:
			return nil, callError(m.Error)
		case *pluginv1.CallToolResponse_ProtocolError:
			return nil, protocolError(m.ProtocolError)
		default:
			return nil, broken(errors.New("a message of an unknown kind"))
		}
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

// callError words a gRPC status: machinery only, what a plugin says of a call
// comes in its own message.
func (in *instance) callError(ctx context.Context, err error) *tool.Error {
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
