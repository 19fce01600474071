// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
)

// controller is go-plugin's GRPCController: how a host asks a plugin to go.
type controller struct{ stop func() }

type controllerServer interface {
	Shutdown(ctx context.Context, in *emptypb.Empty) (*emptypb.Empty, error)
}

func (c *controller) Shutdown(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	c.stop()
	return new(emptypb.Empty), nil
}

const shutdownMethod = "/plugin.GRPCController/Shutdown"

// controllerDesc is written by hand: go-plugin's message has no fields, like
// emptypb's, and its generated code would bring go-plugin along.
var controllerDesc = grpc.ServiceDesc{
	ServiceName: "plugin.GRPCController",
	HandlerType: (*controllerServer)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: "Shutdown",
		Handler:    shutdownHandler,
	}},
	Metadata: "grpc_controller.proto",
}

func shutdownHandler(srv any, ctx context.Context, dec func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) { //nolint:revive // gRPC's order
	in := new(emptypb.Empty)
	if err := dec(in); err != nil {
		return nil, err
	}
	call := func(ctx context.Context, _ any) (any, error) {
		return srv.(controllerServer).Shutdown(ctx, in) //nolint:forcetypeassert // gRPC has checked it against HandlerType
	}
	if intercept == nil {
		return call(ctx, in)
	}
	return intercept(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: shutdownMethod}, call)
}
