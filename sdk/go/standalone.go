// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"strings"
)

// Standalone says how [Plugin.ServeOn] serves.
type Standalone struct {
	// TLS is what clients have to speak. Nil: none, and whoever can connect is the
	// host, so the listener has to be one that nobody else reaches.
	TLS *tls.Config
	// Log is where the plugin's lines go; nil: [slog.Default].
	Log *slog.Logger
}

// ServeOn serves the plugin protocol on a listener, which it closes, until ctx ends
// or a client calls Shutdown: without a host's handshake, and without touching what
// belongs to the process. It is for debuggers and tests; see the package plugintest.
// Its error is all faults of registration, or what went wrong with the listener. A
// plugin may be served several times, each time with a state of its own.
func (p *Plugin[S]) ServeOn(ctx context.Context, l net.Listener, how Standalone) error {
	if how.Log == nil {
		how.Log = slog.Default()
	}
	if len(p.core.faults) > 0 {
		_ = l.Close()
		var text strings.Builder
		p.core.reportFaults(&text)
		return fmt.Errorf("%s", strings.TrimSpace(text.String()))
	}
	return newServer(p.core, how.TLS, how.Log).serveUntil(ctx, l)
}

func (s *server) serveUntil(ctx context.Context, l net.Listener) error {
	defer context.AfterFunc(ctx, func() { s.stop(graceShutdown) })()
	return s.serve(l)
}
