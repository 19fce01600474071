// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	maxBody    = 1 << 20
	socketName = "control.sock"
)

// Server serves an API on a socket.
type Server struct {
	listener net.Listener
	http     *http.Server
	path     string
}

// Listen opens the control socket in the state directory: control.sock, or, if
// another host holds it, control-<pid>.sock. The socket is 0600 and its
// directory must be the host's own.
//
// stranger says, as an error, which processes are refused though they are of the
// host's own user; nil: none is.
func Listen(state string, api API, stranger func(pid int) error, log hclog.Logger) (*Server, error) {
	held, err := hold(state)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	defer held.Release()
	path := filepath.Join(state, socketName)
	if served(path) {
		path = filepath.Join(state, fmt.Sprintf("control-%d.sock", os.Getpid()))
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	listener, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	s := &Server{listener: &own{listener, stranger, log}, path: path}
	ending, end := context.WithCancel(context.Background())
	s.http = &http.Server{
		Handler: handler(api, ending), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	s.http.RegisterOnShutdown(end)
	return s, nil
}

// served reports whether somebody serves there. A host that is too busy to
// answer, or that may not be asked, serves: only what nobody listens on is dead.
func served(path string) bool {
	answers, dead := knock(path)
	return answers || !dead
}

// knock reports whether somebody answers there, and whether nobody ever will.
func knock(path string) (answers, dead bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := connectTo(ctx, path)
	if err != nil {
		return false, errors.Is(err, os.ErrNotExist) || refused(err)
	}
	_ = conn.Close()
	return true, false
}

func connectTo(ctx context.Context, path string) (net.Conn, error) {
	address, release, err := short(path)
	if err != nil {
		return nil, err
	}
	defer release()
	return new(net.Dialer).DialContext(ctx, "unix", address)
}

// Path is the socket's.
func (s *Server) Path() string { return s.path }

// Serve serves until Close.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("control socket: %w", err)
	}
	return nil
}

// Close ends it and removes the socket.
func (s *Server) Close(ctx context.Context) error {
	err := s.http.Shutdown(ctx)
	_ = s.listener.Close()                                     // Shutdown closes only what was served
	if held, late := hold(filepath.Dir(s.path)); late == nil { // else the next one sweeps it
		if !served(s.path) { // by a host that has taken the place
			_ = os.Remove(s.path)
		}
		held.Release()
	}
	if err != nil {
		return fmt.Errorf("control socket: %w", err)
	}
	return nil
}

// own accepts connections of the host's own user only.
type own struct {
	net.Listener

	stranger func(pid int) error
	log      hclog.Logger
}

// Accept waits for the next connection of the host's own user.
func (l *own) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if err := samePeer(conn, l.stranger); err != nil {
			l.log.Warn("control socket: refused", "error", err)
			_ = conn.Close()
			continue
		}
		return conn, nil
	}
}

// Handler serves an API as HTTP. What is not found is 404 with a
// NotFoundError as its body.
func Handler(api API) http.Handler { return handler(api, context.Background()) }

// handler also ends what would have no end once ending is done.
func handler(api API, ending context.Context) http.Handler { //nolint:revive // it is not this function's context
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/adapters/{name}/logs", serveLogs(api, ending))
	handle(mux, "GET /v1/host", func(r *http.Request) (any, error) { return api.Host(r.Context()) })
	handle(mux, "GET /v1/adapters", func(r *http.Request) (any, error) { return api.Adapters(r.Context()) })
	handle(mux, "POST /v1/adapters/{name}/restart", func(r *http.Request) (any, error) {
		return api.Restart(r.Context(), r.PathValue("name"))
	})
	handle(mux, "GET /v1/tools", func(r *http.Request) (any, error) { return api.Tools(r.Context()) })
	handle(mux, "POST /v1/tools/{name}/call", func(r *http.Request) (any, error) {
		body, err := arguments(r)
		if err != nil {
			return nil, err
		}
		q := r.URL.Query()
		return api.Call(r.Context(), r.PathValue("name"), body, Keys{Run: q.Get("run_id"), Call: q.Get("call_id")})
	})
	handle(mux, "GET /v1/approvals", func(r *http.Request) (any, error) {
		return api.Approvals(r.Context(), r.URL.Query().Get("status"))
	})
	handle(mux, "GET /v1/approvals/{id}", func(r *http.Request) (any, error) {
		return api.Approval(r.Context(), r.PathValue("id"))
	})
	handle(mux, "POST /v1/approvals/{id}", func(r *http.Request) (any, error) {
		body, err := arguments(r)
		if err != nil {
			return nil, err
		}
		var d Decision
		if err := json.Unmarshal(body, &d); err != nil {
			return nil, fmt.Errorf("decision: %w", err)
		}
		return api.Decide(r.Context(), r.PathValue("id"), d)
	})
	handle(mux, "POST /v1/tools/{name}/explain", func(r *http.Request) (any, error) {
		body, err := arguments(r)
		if err != nil {
			return nil, err
		}
		var as *Caller
		if text := r.URL.Query().Get("as"); text != "" {
			if as, err = ParseCaller(text); err != nil {
				return nil, fmt.Errorf("caller: %w", err)
			}
		}
		return api.Explain(r.Context(), r.PathValue("name"), body, as)
	})
	return mux
}

func handle(mux *http.ServeMux, pattern string, f func(*http.Request) (any, error)) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		v, err := f(r)
		if err != nil {
			answerError(w, err)
			return
		}
		_ = json.NewEncoder(w).Encode(v)
	})
}

func answerError(w http.ResponseWriter, err error) {
	body, status := any(map[string]string{"error": err.Error()}), http.StatusBadRequest
	if absent, ok := errors.AsType[*NotFoundError](err); ok {
		body, status = absent, http.StatusNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		return // whoever asked is gone
	}
}
