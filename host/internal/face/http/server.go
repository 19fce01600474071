// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"github.com/toolwharf/toolwharf/host/internal/auth"
)

// Bounds of the server.
const (
	maxHeader      = 64 << 10
	maxConnections = 4096
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
)

// Config is what a server is made of.
type Config struct {
	// Listen is the address, host:port; port 0 takes any.
	Listen string
	// MCPPath is where MCP is served, MCP what serves it. It bounds bodies
	// itself.
	MCPPath string
	MCP     http.Handler
	// Ready says whether the host is ready, and what is at fault.
	Ready func() Readiness
	// AllowedHosts and AllowedOrigins are accepted beside those of the
	// loopback interface.
	AllowedHosts, AllowedOrigins []string
	// Identify says who sends a request to MCP, in the context that it returns,
	// or why it is refused; nil: nobody asks.
	Identify func(*http.Request) (context.Context, *auth.Refusal)
	// Authenticated: Identify lets in nobody who has not proven who it is. Peers
	// elsewhere, of other users and behind proxies may then ask.
	Authenticated bool
	// Anonymous: callers without a name are wanted. On an address that other
	// machines can reach they, and proxies, are let in; on a loopback address
	// only the host's own user may speak all the same.
	Anonymous bool
	// Log hears of refusals; nil discards.
	Log *slog.Logger
}

// Server is the host's HTTP server.
type Server struct {
	listener net.Listener
	local    bool
	http     *http.Server
}

// Listen opens the port. Nothing is served before Serve.
func Listen(ctx context.Context, c Config) (*Server, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		if inUse(err) {
			return nil, fmt.Errorf("http.listen: %s is taken by another program; end it or choose another address", c.Listen)
		}
		return nil, fmt.Errorf("http.listen: %w", err)
	}
	local := isLoopback(listener.Addr().String())
	g := newGuard(c, local)
	return &Server{
		listener: netutil.LimitListener(listener, maxConnections), local: local,
		http: &http.Server{
			Handler:           g.around(routes(c, local)),
			ReadHeaderTimeout: headerTimeout,
			IdleTimeout:       idleTimeout,
			MaxHeaderBytes:    maxHeader,
			ConnContext:       g.connected,
			ErrorLog:          slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
		},
	}, nil
}

// Address is where it listens.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

// Local reports whether only this machine can reach that.
func (s *Server) Local() bool { return s.local }

// Serve serves until Shutdown.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("http: %w", err)
	}
	return nil
}

// Shutdown takes no more requests, and returns once those that run have ended,
// or ends them when ctx does.
func (s *Server) Shutdown(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(fmt.Errorf("http: %w", err), s.http.Close())
	}
	return err
}
