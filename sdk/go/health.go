// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// healthName is what go-plugin hosts ask for.
const healthName = "plugin"

// health answers grpc.health.v1. (The server of grpc-go keeps watchers until
// they leave, and so would keep the process.)
type health struct {
	healthv1.UnimplementedHealthServer
	stopping <-chan struct{}
}

func (h *health) now() *healthv1.HealthCheckResponse {
	select {
	case <-h.stopping:
		return &healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_NOT_SERVING}
	default:
		return &healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_SERVING}
	}
}

func served(name string) bool { return name == "" || name == healthName }

func (h *health) Check(_ context.Context, req *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	if !served(req.GetService()) {
		return nil, status.Error(codes.NotFound, "unknown service")
	}
	return h.now(), nil
}

func (h *health) Watch(req *healthv1.HealthCheckRequest, stream grpc.ServerStreamingServer[healthv1.HealthCheckResponse]) error {
	first := h.now()
	if !served(req.GetService()) {
		first.Status = healthv1.HealthCheckResponse_SERVICE_UNKNOWN
	}
	if err := stream.Send(first); err != nil {
		return err
	}
	select {
	case <-stream.Context().Done():
		return stream.Context().Err()
	case <-h.stopping:
		return stream.Send(h.now())
	}
}
