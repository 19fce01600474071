// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// completionService proposes values.
type completionService struct {
	pluginv1.UnimplementedCompletionServiceServer
	*calls
}

func (s *completionService) Complete(ctx context.Context, req *pluginv1.CompleteRequest) (*pluginv1.CompleteResponse, error) {
	used, err := s.begin("Complete")
	if err != nil {
		return nil, err
	}
	defer s.end(used)
	ctx = context.WithValue(ctx, callKey{}, s.running(used, req.GetContext()))
	offered := used.live.now.Load()
	var completers map[string]*completer
	switch ref := req.GetReference().(type) {
	case *pluginv1.CompleteRequest_Prompt:
		p := offered.prompt[ref.Prompt]
		if p == nil {
			return nil, status.Error(codes.NotFound, "there is no such prompt")
		}
		completers = p.completers
	case *pluginv1.CompleteRequest_UriTemplate:
		r := offered.template[ref.UriTemplate]
		if r == nil {
			return nil, status.Error(codes.NotFound, "there is no such template")
		}
		completers = r.completers
	default:
		return nil, status.Error(codes.InvalidArgument, "a completion of nothing")
	}
	c := completers[req.GetArgument()]
	if c == nil {
		return new(pluginv1.CompleteResponse), nil
	}
	values, err := safely(ctx, "completion", c.argument, func() ([]string, error) {
		return c.propose(ctx, used.state, Completion{Argument: c.argument, Value: req.GetValue(), Resolved: req.GetResolved()})
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		Log(ctx).Warn("nothing is proposed", "argument", c.argument, "error", err)
		return new(pluginv1.CompleteResponse), nil
	}
	return proposals(values), nil
}

func proposals(values []string) *pluginv1.CompleteResponse {
	total := int32(min(len(values), 1<<30))
	out := &pluginv1.CompleteResponse{Total: &total, HasMore: len(values) > maxCompletions}
	for _, v := range values[:min(len(values), maxCompletions)] {
		out.Values = append(out.Values, valid(v))
	}
	return out
}
