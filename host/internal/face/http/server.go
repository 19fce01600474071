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

	"github.com/toolwharf/toolwharf/host/internal/auth"
)

// Config is what a server is made of.
type Config struct {
	// Listen is the address, host:port; port 0 takes any.
	Listen string
	// MCPPath is where MCP is served, MCP what serves it.
	MCPPath string
	MCP     http.Handler
	// Routes are served beside it and the server's own.
	Routes []Route
	Bounds Bounds
	// Ready says whether the host is ready, and what is at fault.
	Ready func() Readiness
	// AllowedHosts and AllowedOrigins are accepted beside those of the
	// loopback interface.
	AllowedHosts, AllowedOrigins []string
	// Identify says who sends a request to a route for Callers, or why it is
	// refused; nil: nobody asks. As tells those behind it, in the context that it
	// returns.
	Identify func(*http.Request) (auth.Caller, *auth.Refusal)
	As       func(context.Context, auth.Caller) context.Context
	// Operator reports whether a request is an operator's; nil: none is.
	Operator func(*http.Request) bool
	// Authenticated: Identify lets in nobody who has not proven who it is. Peers
	// elsewhere, of other users and behind proxies may then ask.
	Authenticated bool
	// Certificate, if not nil, is what the server speaks TLS with.
	Certificate *Certificate
	// Resource, if not nil, says where clients get tokens.
	Resource *Resource
	// Anonymous: callers without a name are wanted. On an address that other
	// machines can reach they, and proxies, are let in; on a loopback address
	// only the host's own user may speak all the same.
	Anonymous bool
	// Told hears of every request that a handler or the guard has answered,
	// Refused why those were refused that came to neither. Both may be nil.
	Told    func(Exchange)
	Refused func(code string)
	// Numbered: each request has an id, the client's own X-Request-ID if that is
	// harmless or else a new one, and the answer says it.
	Numbered bool
	// Log hears of refusals; nil discards.
	Log *slog.Logger
}

// Server is the host's HTTP server.
type Server struct {
	listener net.Listener
	local    bool
	secret   bool // it speaks TLS
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
	c.Bounds = c.Bounds.orDefaults()
	local := isLoopback(listener.Addr().String())
	s := newSite(c, local)
	all := &crowd{Listener: listener, most: c.Bounds.Connections, idle: c.Bounds.Idle, refused: func(code string) {
		c.Log.Debug("request refused", "error", code)
		if c.Refused != nil {
			c.Refused(code)
		}
	}}
	server := &Server{
		listener: all, local: local,
		http: &http.Server{
			Handler:           s.handler(),
			ReadHeaderTimeout: c.Bounds.HeaderTime,
			IdleTimeout:       c.Bounds.IdleTime,
			MaxHeaderBytes:    c.Bounds.Header,
			ConnContext:       s.guard.connected,
			ConnState:         all.state,
			ErrorLog:          slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
			// `OPTIONS *` would be answered before the guard.
			DisableGeneralOptionsHandler: true,
		},
	}
	if c.Certificate != nil {
		server.secret, server.http.TLSConfig = true, c.Certificate.config()
	}
	return server, nil
}

// Guarded is MCP for a server that is not this package's, behind the same guard.
// Which other machines reach that server is not known here: without authentication
// only the host's own user on this machine may speak, unless anonymous callers are
// wanted. Connections and headers are that server's to bound.
func Guarded(c Config) http.Handler {
	c.Bounds = c.Bounds.orDefaults()
	s := newSite(c, false)
	return s.guard.around(s.identified(s.MCP))
}

// Address is where it listens.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

// URL is where it listens, with its scheme.
func (s *Server) URL() string {
	scheme := "http"
	if s.secret {
		scheme = "https"
	}
	return scheme + "://" + s.listener.Addr().String()
}

// Local reports whether only this machine can reach that.
func (s *Server) Local() bool { return s.local }

// Serve serves until Shutdown.
func (s *Server) Serve() error {
	serve := s.http.Serve
	if s.secret {
		serve = func(l net.Listener) error { return s.http.ServeTLS(l, "", "") }
	}
	if err := serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
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
