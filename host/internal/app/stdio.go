// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/face/control"
	httpface "github.com/toolwharf/toolwharf/host/internal/face/http"
	"github.com/toolwharf/toolwharf/host/internal/face/mcp"
	"github.com/toolwharf/toolwharf/host/internal/telemetry"
)

// firstList is how long a stdio client's first request waits for adapters that
// are still starting: most clients list the tools once, at once. A plugin that
// hangs costs the others no more than this.
const firstList = 2 * time.Second

// ServeStdio serves one client over in and out, until in or ctx ends, and then
// closes the host.
func (h *Host) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	h.Start(ctx)
	tried, cancel := context.WithTimeout(ctx, firstList)
	_ = h.AwaitTried(tried)
	cancel()
	face := h.face(nil)
	closeControl, err := h.serveControl("stdio")
	if err == nil {
		leave := h.follow(ctx, face)
		err = face.ServeStdio(ctx, in, out)
		leave()
		closeControl()
	}
	face.Close()
	return errors.Join(err, h.Close())
}

// follow follows the configuration, for the face too, until leave is called.
func (h *Host) follow(ctx context.Context, face *mcp.Face) (leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	left := make(chan struct{})
	go func() {
		defer close(left)
		h.followConfig(ctx, func(c *config.Config) {
			face.Instruct(c.Instructions)
			face.Recheck()
		})
	}()
	return func() {
		cancel()
		<-left
	}
}

// face is the MCP face of this host.
func (h *Host) face(anonymous *bool) *mcp.Face {
	version := h.config.Version
	if version == "" {
		version = h.version
	}
	made := mcp.Config{
		Name: h.config.Name, Version: version, Instructions: h.config.Instructions,
		Registry: h.registry, Executor: h.executor, Policy: h.executor.Policy, MaxBody: h.config.HTTP.MaxBody,
		MaxListens:     h.config.HTTP.MaxListens,
		AllowAnonymous: anonymous, HostChecked: true, Log: telemetry.Slog(h.log.Named("mcp")),
	}
	if c := h.config.HTTP.Auth; c != nil && c.StepUp {
		made.StepUp = httpface.Config{Resource: h.resource(), MCPPath: h.config.HTTP.Path}.Lacking
	}
	return mcp.New(made)
}

// serveControl serves the control socket. A host without one serves its clients
// all the same only if it cannot have one for a reason that it says.
func (h *Host) serveControl(serves string) (closeControl func(), err error) {
	s, err := control.Listen(h.config.State, h.API(serves), process.Guarded, h.log.Named("control"))
	if err != nil {
		return nil, fmt.Errorf("%w (the state directory is %s)", err, h.config.State)
	}
	go func() {
		if err := s.Serve(); err != nil {
			h.log.Error("control socket", "error", err)
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		_ = s.Close(ctx)
	}, nil
}
