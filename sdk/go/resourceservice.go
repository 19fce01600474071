// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// resourceService reads resources.
type resourceService struct {
	pluginv1.UnimplementedResourceServiceServer
	*calls
}

var resourceWords = words[pluginv1.ReadResourceResponse]{ //nolint:dupl // the protocol has a type for each rpc
	progress: func(p *pluginv1.Progress) *pluginv1.ReadResourceResponse {
		return &pluginv1.ReadResourceResponse{Message: &pluginv1.ReadResourceResponse_Progress{Progress: p}}
	},
	log: func(l *pluginv1.LogMessage) *pluginv1.ReadResourceResponse {
		return &pluginv1.ReadResourceResponse{Message: &pluginv1.ReadResourceResponse_Log{Log: l}}
	},
	ending: func(e ending) *pluginv1.ReadResourceResponse {
		switch {
		case e.question != nil:
			return &pluginv1.ReadResourceResponse{Message: &pluginv1.ReadResourceResponse_InputRequired{InputRequired: e.question}}
		case e.protocol != nil:
			return &pluginv1.ReadResourceResponse{Message: &pluginv1.ReadResourceResponse_ProtocolError{ProtocolError: e.protocol}}
		}
		return &pluginv1.ReadResourceResponse{Message: &pluginv1.ReadResourceResponse_Error{Error: e.err}}
	},
}

func (s *resourceService) ReadResource(req *pluginv1.ReadResourceRequest, stream grpc.ServerStreamingServer[pluginv1.ReadResourceResponse]) error {
	return converse(s.calls, "ReadResource", req, stream, resourceWords,
		func(ctx context.Context, used *session) (func(func(*pluginv1.ReadResourceResponse) error) error, error) {
			contents, err := used.readResource(ctx, req.GetUri())
			if err != nil {
				return nil, err
			}
			limits := used.adapter.Limits
			if err := readable(contents, limits); err != nil {
				return nil, err
			}
			return func(send func(*pluginv1.ReadResourceResponse) error) error {
				return deliverContents(contents, limits, send)
			}, nil
		})
}

// readResource reads one resource.
func (s *session) readResource(ctx context.Context, uri string) ([]Contents, error) {
	r, values := s.live.now.Load().reads(uri)
	if r == nil {
		return nil, ResourceNotFound(uri)
	}
	return safely(ctx, "resource", uri, func() ([]Contents, error) { return r.read(ctx, s.state, uri, values) })
}

func (s *resourceService) SubscribeResource(_ context.Context, req *pluginv1.SubscribeResourceRequest) (*pluginv1.SubscribeResourceResponse, error) {
	used, err := s.begin("SubscribeResource")
	if err != nil {
		return nil, err
	}
	defer s.end(used)
	r, _ := used.live.now.Load().reads(req.GetUri())
	if r == nil {
		return nil, status.Error(codes.NotFound, "there is no such resource")
	}
	if !r.subscribable {
		return nil, status.Error(codes.Unimplemented, "the plugin does not say when this resource changes")
	}
	return new(pluginv1.SubscribeResourceResponse), s.watched.subscribe(req.GetUri())
}

func (s *resourceService) UnsubscribeResource(_ context.Context, req *pluginv1.UnsubscribeResourceRequest) (*pluginv1.UnsubscribeResourceResponse, error) {
	s.watched.unsubscribe(req.GetUri())
	return new(pluginv1.UnsubscribeResourceResponse), nil
}
