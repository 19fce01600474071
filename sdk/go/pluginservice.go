// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"log/slog"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// pluginService says what the plugin is and takes its configuration.
type pluginService struct {
	pluginv1.UnimplementedPluginServiceServer
	core     *core
	log      *slog.Logger
	sessions *sessions
	stopping <-chan struct{}

	configuring sync.Mutex // one at a time: the last one asked wins
}

func (s *pluginService) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return s.core.describe(), nil
}

func (c *core) describe() *pluginv1.DescribeResponse {
	d := &pluginv1.DescribeResponse{
		Name: c.info.Name, Version: valid(c.info.Version), Title: valid(c.info.Title), Description: valid(c.info.Description),
	}
	d.ConfigSchema = c.configSchema()
	if len(c.tools) > 0 {
		d.Features = []string{"tools"}
	}
	return d
}

func (s *pluginService) Configure(ctx context.Context, req *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	adapter := adapterOf(req)
	resp, state := s.core.configure(ctx, s.log, req.GetConfig(), &adapter, req.GetCheckOnly())
	if state != nil {
		s.sessions.replace(&session{state: state, adapter: adapter}, s.log)
	}
	return resp, nil
}

// configure judges a configuration and, unless it is only to be checked or has
// faults, opens the state of it; nil: none was opened.
func (c *core) configure(ctx context.Context, log *slog.Logger, config []byte, adapter *Adapter, checkOnly bool) (*pluginv1.ConfigureResponse, any) {
	warned := new(warnings)
	ctx = context.WithValue(ctx, adapterKey{}, adapter)
	ctx = context.WithValue(ctx, loggerKey{}, log)
	ctx = context.WithValue(ctx, warningKey{}, warned)

	var grants []Grant
	var state any
	err := guard(log, "check", func() (err error) {
		grants, err = c.check(ctx, config)
		return err
	})
	if err == nil && !checkOnly {
		err = guard(log, "open", func() (err error) {
			state, err = c.open(ctx, config)
			return err
		})
	}
	resp := &pluginv1.ConfigureResponse{Diagnostics: append(diagnostics(err), warned.take()...)}
	for _, g := range grants {
		resp.Grants = append(resp.Grants, g.wire())
	}
	if err != nil {
		return resp, nil
	}
	return resp, state
}

func adapterOf(req *pluginv1.ConfigureRequest) Adapter {
	l := req.GetLimits()
	return Adapter{
		Name:     req.GetAdapter(),
		CacheDir: req.GetCacheDir(),
		Limits: Limits{
			MaxResultBytes: l.GetMaxResultBytes(),
			MaxInFlight:    int(l.GetMaxInFlight()),
			CallTimeout:    l.GetCallTimeout().AsDuration(),
		},
	}
}

// Watch sends the catalogue, which never changes, and stays open: a host that
// sees the stream end need not wonder why.
func (s *pluginService) Watch(_ *pluginv1.WatchRequest, stream grpc.ServerStreamingServer[pluginv1.WatchResponse]) error {
	if !s.sessions.configured() {
		return status.Error(codes.FailedPrecondition, "Watch before Configure has succeeded")
	}
	catalog := &pluginv1.WatchResponse{Event: &pluginv1.WatchResponse_Catalog{Catalog: s.core.catalog()}}
	if err := stream.Send(catalog); err != nil {
		return err
	}
	select {
	case <-stream.Context().Done():
		return stream.Context().Err()
	case <-s.stopping:
		return nil
	}
}

func (c *core) catalog() *pluginv1.Catalog {
	out := new(pluginv1.Catalog)
	for _, t := range c.tools {
		out.Tools = append(out.Tools, t.decl)
	}
	return out
}
