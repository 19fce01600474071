// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

const (
	// graceShutdown is how long calls may go on after Shutdown: go-plugin hosts
	// kill a plugin two seconds after they asked, and twice graceClose follows.
	graceShutdown = 1200 * time.Millisecond
	// graceSignal is how long calls may go on after SIGTERM.
	graceSignal = 10 * time.Second
	// graceClose is how long cancelled calls may take to return, and then the
	// state to close.
	graceClose = 300 * time.Millisecond
)

// server serves one plugin to one host.
type server struct {
	grpc     *grpc.Server
	log      *slog.Logger
	sessions *sessions
	plugins  *pluginService

	stopOnce sync.Once
	stopping chan struct{} // closed when no new work is wanted
	stopped  chan struct{} // closed when all is done
}

// newServer serves whoever has the other end of the identity; without one, anybody.
func newServer(c *core, identity *tls.Config, log *slog.Logger) *server {
	s := &server{
		log:      log,
		sessions: new(sessions),
		stopping: make(chan struct{}),
		stopped:  make(chan struct{}),
	}
	creds := insecure.NewCredentials()
	if identity != nil {
		creds = credentials.NewTLS(identity)
	}
	s.grpc = grpc.NewServer(
		grpc.Creds(creds),
		grpc.MaxRecvMsgSize(messageBytes),
		grpc.MaxSendMsgSize(messageBytes),
		// One client, which may ask whether we live as often as it likes.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true),
	)
	healthv1.RegisterHealthServer(s.grpc, &health{sessions: s.sessions, log: log, stopping: s.stopping})
	s.grpc.RegisterService(&controllerDesc, &controller{stop: func() { go s.stop(graceShutdown) }})
	heard := new(watched)
	s.plugins = &pluginService{core: c, log: log, sessions: s.sessions, watched: heard, stopping: s.stopping}
	pluginv1.RegisterPluginServiceServer(s.grpc, s.plugins)
	s.register(&calls{core: c, log: log, sessions: s.sessions, watched: heard})
	return s
}

// register serves what the plugin has features for.
func (s *server) register(c *calls) {
	if c.core.has(FeatureTools) {
		pluginv1.RegisterToolServiceServer(s.grpc, &toolService{calls: c})
	}
	if c.core.has(FeatureResources) {
		pluginv1.RegisterResourceServiceServer(s.grpc, &resourceService{calls: c})
	}
	if c.core.has(FeaturePrompts) {
		pluginv1.RegisterPromptServiceServer(s.grpc, &promptService{calls: c})
	}
	if c.core.has(FeatureCompletion) {
		pluginv1.RegisterCompletionServiceServer(s.grpc, &completionService{calls: c})
	}
	if c.core.has(FeatureHooks) {
		pluginv1.RegisterHookServiceServer(s.grpc, &hookService{calls: c})
	}
}

// serve returns when the server was stopped and what can be done is done, or
// when listening has failed.
func (s *server) serve(l net.Listener) error {
	failed := make(chan error, 1)
	go func() {
		if err := s.grpc.Serve(l); err != nil {
			failed <- err
		}
	}()
	select {
	case err := <-failed:
		return err
	case <-s.stopped:
		return nil // Serve itself waits for handlers, also for deaf ones
	}
}

// stop lets running calls go on for the time of grace, then cancels them, and
// closes the state. It is over when all of that is.
func (s *server) stop(grace time.Duration) {
	s.stopOnce.Do(func() {
		close(s.stopping)
		within(grace, s.grpc.GracefulStop)
		within(graceClose, s.grpc.Stop)
		within(graceClose, func() {
			s.sessions.replace(nil, s.log)
			s.sessions.open.Wait()
		})
		close(s.stopped)
	})
}

// within waits for f, but not for ever.
func within(limit time.Duration, f func()) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	go func() {
		defer cancel()
		f()
	}()
	<-ctx.Done()
}
