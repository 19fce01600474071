// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"log/slog"
	"sync"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// pluginService says what the plugin is and takes its configuration.
type pluginService struct {
	pluginv1.UnimplementedPluginServiceServer
	core     *core
	log      *slog.Logger
	sessions *sessions
	watched  *watched
	stopping <-chan struct{}

	configuring sync.Mutex // one at a time: the last one asked wins
	started     sync.Once  // does what comes after the start
}

func (s *pluginService) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return s.core.describe(), nil
}

func (c *core) describe() *pluginv1.DescribeResponse {
	d := &pluginv1.DescribeResponse{
		Name: c.info.Name, Version: valid(c.info.Version), Title: valid(c.info.Title), Description: valid(c.info.Description),
	}
	d.ConfigSchema, d.Features = c.configSchema(), c.features()
	return d
}

func (s *pluginService) Configure(ctx context.Context, req *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	s.configuring.Lock()
	defer s.configuring.Unlock()
	adapter := adapterOf(req)
	resp, next := s.core.configure(ctx, s.log, req.GetConfig(), adapter, newLive(s.core, s.watched), req.GetCheckOnly())
	if next != nil {
		s.sessions.replace(next, s.log)
		s.watched.wake()
	}
	return resp, nil
}

// configure judges a configuration and, unless it is only to be checked or has
// faults, opens the state of it; nil: none was opened.
func (c *core) configure(ctx context.Context, log *slog.Logger, config []byte, adapter Adapter, offered *live, checkOnly bool) (*pluginv1.ConfigureResponse, *session) {
	warned := new(warnings)
	ctx = context.WithValue(ctx, adapterKey{}, &adapter)
	ctx = context.WithValue(ctx, loggerKey{}, log)
	ctx = context.WithValue(ctx, warningKey{}, warned)

	var grants []Grant
	var state any
	err := guard(log, "check", func() (err error) {
		grants, err = c.check(ctx, config)
		return err
	})
	offered.limits = adapter.Limits
	if err == nil {
		err = c.base.within(adapter.Limits)
	}
	if err == nil && !checkOnly {
		err = guard(log, "open", func() (err error) {
			state, err = c.open(context.WithValue(ctx, liveKey{}, offered), config)
			return err
		})
	}
	resp := &pluginv1.ConfigureResponse{Diagnostics: append(diagnostics(err), warned.take()...)}
	for _, g := range grants {
		resp.Grants = append(resp.Grants, g.wire())
	}
	if err != nil || checkOnly {
		return resp, nil
	}
	return resp, &session{state: state, adapter: adapter, live: offered}
}

func adapterOf(req *pluginv1.ConfigureRequest) Adapter {
	l := req.GetLimits()
	return Adapter{
		Name:     req.GetAdapter(),
		CacheDir: req.GetCacheDir(),
		Limits: Limits{
			MaxMessageBytes: l.GetMaxMessageBytes(),
			MaxResultBytes:  l.GetMaxResultBytes(),
			MaxInFlight:     int(l.GetMaxInFlight()),
			CallTimeout:     l.GetCallTimeout().AsDuration(),
			MaxTools:        int(l.GetMaxTools()),
		},
	}
}
