// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"

	"google.golang.org/grpc"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// promptService makes prompts.
type promptService struct {
	pluginv1.UnimplementedPromptServiceServer
	*calls
}

var promptWords = words[pluginv1.GetPromptResponse]{ //nolint:dupl // the protocol has a type for each rpc
	progress: func(p *pluginv1.Progress) *pluginv1.GetPromptResponse {
		return &pluginv1.GetPromptResponse{Message: &pluginv1.GetPromptResponse_Progress{Progress: p}}
	},
	log: func(l *pluginv1.LogMessage) *pluginv1.GetPromptResponse {
		return &pluginv1.GetPromptResponse{Message: &pluginv1.GetPromptResponse_Log{Log: l}}
	},
	ending: func(e ending) *pluginv1.GetPromptResponse {
		switch {
		case e.question != nil:
			return &pluginv1.GetPromptResponse{Message: &pluginv1.GetPromptResponse_InputRequired{InputRequired: e.question}}
		case e.protocol != nil:
			return &pluginv1.GetPromptResponse{Message: &pluginv1.GetPromptResponse_ProtocolError{ProtocolError: e.protocol}}
		}
		return &pluginv1.GetPromptResponse{Message: &pluginv1.GetPromptResponse_Error{Error: e.err}}
	},
}

func (s *promptService) GetPrompt(req *pluginv1.GetPromptRequest, stream grpc.ServerStreamingServer[pluginv1.GetPromptResponse]) error {
	return converse(s.calls, "GetPrompt", req, stream, promptWords,
		func(ctx context.Context, used *session) (func(func(*pluginv1.GetPromptResponse) error) error, error) {
			result, err := used.getPrompt(ctx, req.GetName(), req.GetArguments())
			if err == nil {
				err = used.adapter.Limits.fitWhole("prompt", result.size(), RanNo)
			}
			if err != nil {
				return nil, err
			}
			return func(send func(*pluginv1.GetPromptResponse) error) error {
				return send(&pluginv1.GetPromptResponse{Message: &pluginv1.GetPromptResponse_Result{Result: result.wire()}})
			}, nil
		})
}

// getPrompt makes one prompt.
func (s *session) getPrompt(ctx context.Context, name string, values map[string]string) (*PromptResult, error) {
	p := s.live.now.Load().prompt[name]
	if p == nil {
		return nil, &Error{Kind: KindToolFailed, Code: "unknown_prompt", Detail: "the plugin has no prompt " + name, Ran: RanNo}
	}
	return safely(ctx, "prompt", name, func() (*PromptResult, error) { return p.get(ctx, s.state, values) })
}
