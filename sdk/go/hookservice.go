// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"encoding/json"
	"errors"

	"google.golang.org/grpc/status"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// hookService judges calls of other adapters.
type hookService struct {
	pluginv1.UnimplementedHookServiceServer
	*calls
}

func (s *hookService) BeforeTool(ctx context.Context, req *pluginv1.BeforeToolRequest) (*pluginv1.BeforeToolResponse, error) {
	used, err := s.begin("BeforeTool")
	if err != nil {
		return nil, err
	}
	defer s.end(used)
	if s.core.before == nil {
		return new(pluginv1.BeforeToolResponse), nil
	}
	ctx = context.WithValue(ctx, callKey{}, s.running(used, req.GetContext()))
	call := Hooked{Tool: req.GetTool(), Adapter: req.GetAdapter(), Arguments: req.GetArguments()}
	edited, err := safely(ctx, "hook", call.Tool, func() (json.RawMessage, error) {
		return s.core.before(ctx, used.state, call)
	})
	if err == nil && edited != nil && !isObject(edited) {
		err = Failed("hook_result", errors.New("the arguments that the hook puts in are not a JSON object"))
	}
	if err == nil {
		err = used.adapter.Limits.fitMessage("arguments", len(edited), RanNo)
	}
	switch {
	case err != nil:
		refusal, err := refusalOf(ctx, err)
		return &pluginv1.BeforeToolResponse{Verdict: &pluginv1.BeforeToolResponse_Refusal{Refusal: refusal}}, err
	case edited != nil:
		return &pluginv1.BeforeToolResponse{Verdict: &pluginv1.BeforeToolResponse_EditedArguments{EditedArguments: edited}}, nil
	}
	return new(pluginv1.BeforeToolResponse), nil
}

func (s *hookService) AfterTool(ctx context.Context, req *pluginv1.AfterToolRequest) (*pluginv1.AfterToolResponse, error) {
	used, err := s.begin("AfterTool")
	if err != nil {
		return nil, err
	}
	defer s.end(used)
	if s.core.after == nil {
		return new(pluginv1.AfterToolResponse), nil
	}
	ctx = context.WithValue(ctx, callKey{}, s.running(used, req.GetContext()))
	call := Hooked{Tool: req.GetTool(), Adapter: req.GetAdapter(), Arguments: req.GetArguments()}
	edited, err := safely(ctx, "hook", call.Tool, func() (*Result, error) {
		return s.core.after(ctx, used.state, call, resultOf(req.GetResult()))
	})
	if err == nil && edited != nil {
		err = used.adapter.Limits.fitMessage("result", edited.size(), RanYes)
	}
	switch {
	case err != nil:
		refusal, err := refusalOf(ctx, err)
		return &pluginv1.AfterToolResponse{Verdict: &pluginv1.AfterToolResponse_Refusal{Refusal: refusal}}, err
	case edited != nil:
		return &pluginv1.AfterToolResponse{Verdict: &pluginv1.AfterToolResponse_EditedResult{EditedResult: edited.wire()}}, nil
	}
	return new(pluginv1.AfterToolResponse), nil
}

// refusalOf makes a refusal of whatever a hook returned as its error: one that
// cannot judge must not let pass. Only a caller who has gone gets none.
func refusalOf(ctx context.Context, err error) (*pluginv1.Refusal, error) {
	if ctx.Err() != nil {
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	e := callError(ctx, err)
	return &pluginv1.Refusal{Code: e.GetCode(), Text: e.GetText(), Detail: e.GetDetail()}, nil
}
