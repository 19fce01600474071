// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/app"
	"github.com/toolwharf/toolwharf/host/internal/config"
	mcpface "github.com/toolwharf/toolwharf/host/internal/face/mcp"
	"github.com/toolwharf/toolwharf/host/internal/telemetry"
)

// Config says what a host is made of.
type Config struct {
	// YAML is what stands in a toolwharf.yaml; empty: the defaults. Of `http:` the
	// rules about who may call hold, for [Host.Handler]; where to listen is the
	// program's business.
	YAML string
	// Dir is where relative paths start, and where the state is kept unless YAML says
	// otherwise. Empty: the working directory.
	Dir string
	// Version is what clients are told; empty: "embedded".
	Version string
	// Log gets the host's log, one JSON object a line; nil: nobody.
	Log io.Writer
}

// Host is a running host. It is safe for concurrent use.
type Host struct {
	app     *app.Host
	face    *mcpface.Face
	handler http.Handler
	close   func() error
}

// Open starts a host, and returns when each adapter was tried once, or with an error
// when ctx ends before; after that ctx has no part in it. An adapter that is at fault
// leaves the others serving: see [Host.Faults]. What is wrong with the configuration
// is all in one error. Close must be called.
func Open(ctx context.Context, c Config) (*Host, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("toolwharf: %w", err)
	}
	cfg, faults := config.Parse("configuration", []byte(c.YAML), dir)
	if err := faults.Err(); err != nil {
		return nil, fmt.Errorf("toolwharf: %w", err)
	}
	if c.Version == "" {
		c.Version = "embedded"
	}
	if c.Log == nil {
		c.Log = io.Discard
	}
	log := telemetry.NewLog(telemetry.Options{Out: c.Log, Format: "json", Level: cfg.Log.Level})
	for _, w := range faults.Warnings() {
		log.Warn(w.String())
	}
	inner, err := app.Open(ctx, app.Options{Config: cfg, Version: c.Version, Log: log})
	if err != nil {
		return nil, fmt.Errorf("toolwharf: %w", err)
	}
	h := &Host{app: inner}
	h.close = sync.OnceValue(h.end)
	if h.handler, h.face, err = inner.Embed(); err == nil {
		inner.Start(ctx)
		err = inner.AwaitTried(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("toolwharf: %w", err), h.Close())
	}
	return h, nil
}

// Handler is the MCP endpoint, stateless Streamable HTTP, for a path of the program's
// own server. Who may call is what `http:` of the configuration says: the Host and
// Origin headers are judged, tokens asked for; without authentication only clients of
// this user on this machine are served. The program must not let others in before it,
// nor change a request's RemoteAddr.
//
// The handler does not know at which URL it is. Where tokens are those of an issuer
// (http.auth.issuer), it is for the program to tell clients so (RFC 9728): with a
// JSON object at /.well-known/oauth-protected-resource, followed by the handler's
// path, that has the handler's URL as resource and [issuer] as authorization_servers.
func (h *Host) Handler() http.Handler { return h.handler }

// Transport is a connection within this process, for one client of the MCP SDK. Its
// caller is the user that the process runs as, as over stdio: it is not asked who it
// is, so hand it to nobody else.
func (h *Host) Transport() mcp.Transport { return inMemory{h.face} }

// Faults are what is not as it should be, each naming what it is about; none: all is
// well.
func (h *Host) Faults() []string { return h.app.Faults() }

// Close ends connections within this process and listen streams, drains the adapters
// and closes the store. Requests that run over HTTP are the business of the program's
// server: shut that down first.
func (h *Host) Close() error { return h.close() }

func (h *Host) end() error {
	if h.face != nil {
		h.face.Close()
	}
	return h.app.Close()
}

// inMemory connects by two pipes.
type inMemory struct{ face *mcpface.Face }

// Connect implements [mcp.Transport].
func (m inMemory) Connect(ctx context.Context) (mcp.Connection, error) {
	asked, asks := io.Pipe()
	answered, answers := io.Pipe()
	go func() {
		// It ends with the client or with the face; the client is told by the end.
		err := m.face.ServeStdio(context.WithoutCancel(ctx), asked, answers)
		_ = asked.CloseWithError(errors.Join(io.ErrClosedPipe, err))
		_ = answers.Close()
	}()
	return (&mcp.IOTransport{Reader: answered, Writer: asks}).Connect(ctx)
}
