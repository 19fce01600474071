// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"

	"google.golang.org/grpc"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// toolService runs tools.
type toolService struct {
	pluginv1.UnimplementedToolServiceServer
	*calls
}

var toolWords = words[pluginv1.CallToolResponse]{ //nolint:dupl // the protocol has a type for each rpc
	progress: func(p *pluginv1.Progress) *pluginv1.CallToolResponse {
		return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Progress{Progress: p}}
	},
	log: func(l *pluginv1.LogMessage) *pluginv1.CallToolResponse {
		return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Log{Log: l}}
	},
	ending: func(e ending) *pluginv1.CallToolResponse {
		switch {
		case e.question != nil:
			return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_InputRequired{InputRequired: e.question}}
		case e.protocol != nil:
			return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_ProtocolError{ProtocolError: e.protocol}}
		}
		return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Error{Error: e.err}}
	},
}

func (s *toolService) CallTool(req *pluginv1.CallToolRequest, stream grpc.ServerStreamingServer[pluginv1.CallToolResponse]) error {
	return converse(s.calls, "CallTool", req, stream, toolWords,
		func(ctx context.Context, used *session) (func(func(*pluginv1.CallToolResponse) error) error, error) {
			result, err := used.callTool(ctx, req.GetTool(), req.GetArguments())
			if err != nil {
				return nil, err
			}
			limits := used.adapter.Limits
			if err := result.fits(limits); err != nil {
				return nil, err
			}
			return func(send func(*pluginv1.CallToolResponse) error) error { return result.deliver(limits, send) }, nil
		})
}

// callTool runs one tool.
func (s *session) callTool(ctx context.Context, name string, args []byte) (*Result, error) {
	t := s.live.now.Load().tool[name]
	if t == nil {
		return nil, &Error{Kind: KindToolFailed, Code: "unknown_tool", Detail: "the plugin has no tool " + name, Ran: RanNo}
	}
	return safely(ctx, "tool", name, func() (*Result, error) { return t.call(ctx, s.state, args) })
}
