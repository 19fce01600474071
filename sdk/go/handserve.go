// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
	"github.com/toolwharf/toolwharf/sdk/go/internal/handshake"
)

// serve serves the plugin protocol on a unix socket that only this user can open. It
// is configured already where the configuration is known.
func (h *hand) serve(path string, config *string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	conf, err := h.configFor(config)
	if err != nil {
		return h.failed(err)
	}
	log := h.logger()
	slog.SetDefault(log)
	s := newServer(h.core, nil, log)
	next := "Configure it first"
	if config != nil || !h.core.needsConfig() {
		resp, _ := s.plugins.Configure(ctx, &pluginv1.ConfigureRequest{Config: conf, Adapter: h.core.info.Name})
		if !h.accepted(resp) {
			return 1
		}
		next = "it is configured"
	}
	l, err := handshake.ListenAt(path)
	if err != nil {
		return h.failed(err)
	}
	fmt.Fprintf(h.err, "%s serves toolwharf.plugin.v1 on %s, without TLS, to this user alone; %s. It ends with Ctrl-C.\n",
		h.core.info.Name, path, next)
	fmt.Fprintf(h.err, "To call it: grpcurl -plaintext -unix -import-path proto -proto toolwharf/plugin/v1/plugin.proto %s toolwharf.plugin.v1.PluginService/Describe\n", path)
	if err := s.serveUntil(ctx, l); err != nil {
		return h.failed(err)
	}
	return 0
}
