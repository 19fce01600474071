// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// healthName is what go-plugin hosts ask for.
const healthName = "plugin"

// HealthChecker is a state that knows whether it can still serve. Hosts ask from time
// to time and restart a plugin that says no, so it should say so only of what a
// restart mends: a broken pipe to a child process, not a database that is down. The
// error goes to the operator's log. It has two seconds.
type HealthChecker interface {
	CheckHealth(ctx context.Context) error
}

// healthTime is how long a state may think about its health.
const healthTime = 2 * time.Second

// health answers grpc.health.v1. (The server of grpc-go keeps watchers until
// they leave, and so would keep the process.)
type health struct {
	healthv1.UnimplementedHealthServer
	sessions *sessions
	log      *slog.Logger
	stopping <-chan struct{}
}

func (h *health) now(ctx context.Context) *healthv1.HealthCheckResponse {
	select {
	case <-h.stopping:
		return &healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_NOT_SERVING}
	default:
	}
	if err := h.ask(ctx); err != nil {
		h.log.Warn("the plugin says that it cannot serve", "error", err)
		return &healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_NOT_SERVING}
	}
	return &healthv1.HealthCheckResponse{Status: healthv1.HealthCheckResponse_SERVING}
}

// ask asks the state of the moment, if it has something to say.
func (h *health) ask(ctx context.Context) error {
	used, ok := h.sessions.acquire()
	if !ok {
		return nil
	}
	defer h.sessions.release(used, h.log)
	checker, ok := used.state.(HealthChecker)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	return guard(h.log, "health", func() error { return checker.CheckHealth(ctx) })
}

func served(name string) bool { return name == "" || name == healthName }

func (h *health) Check(ctx context.Context, req *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	if !served(req.GetService()) {
		return nil, status.Error(codes.NotFound, "unknown service")
	}
	return h.now(ctx), nil
}

func (h *health) Watch(req *healthv1.HealthCheckRequest, stream grpc.ServerStreamingServer[healthv1.HealthCheckResponse]) error {
	first := h.now(stream.Context())
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
		return stream.Send(h.now(stream.Context()))
	}
}
