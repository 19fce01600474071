// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/auth"
	"github.com/toolwharf/toolwharf/host/internal/face/approve"
	httpface "github.com/toolwharf/toolwharf/host/internal/face/http"
	"github.com/toolwharf/toolwharf/host/internal/face/mcp"
	"github.com/toolwharf/toolwharf/host/internal/telemetry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// finishTime is how long calls that run may go on when the host is to end.
const finishTime = 30 * time.Second

// ServeHTTP serves over HTTP until ctx ends, and then closes the host.
func (h *Host) ServeHTTP(ctx context.Context) error {
	var err error
	if h.entrance, err = h.newEntrance(); err != nil {
		return errors.Join(err, h.Close())
	}
	operators, err := operators(h.config, h.entrance.door)
	if err != nil {
		return errors.Join(err, h.Close())
	}
	face := h.face(h.config.HTTP.AllowAnonymous)
	defer face.Close()
	site := h.site(face)
	site.Operator = operators.Has
	approvals := httpface.Approvals{Desk: h.desk(), Operator: operators.Identify, Log: site.Log}
	site.Routes = slices.Concat(site.Routes, approvals.Routes(), []httpface.Route{
		{Pattern: "/approve/", Access: httpface.Anyone, Handler: h.approvalPage(operators, site.Log)},
	})
	if tls := h.config.HTTP.TLS; tls != nil {
		if site.Certificate, err = httpface.OpenCertificate(tls.Cert, tls.Key, site.Log); err != nil {
			return errors.Join(err, h.Close())
		}
	}
	server, err := httpface.Listen(ctx, site)
	if err != nil {
		return errors.Join(err, h.Close())
	}
	at := server.URL() + h.config.HTTP.Path
	closeControl, err := h.serveControl(at)
	if err != nil {
		return errors.Join(err, server.Shutdown(ctx), h.Close())
	}
	h.serveAt(server.Address())
	defer closeControl()
	h.warn(at, server.Local() || site.Certificate != nil, site.Authenticated, site.Anonymous)
	h.Start(ctx)
	leave := h.follow(ctx, face)
	served := make(chan error, 1)
	go func() { served <- server.Serve() }()
	h.log.Info("serving", "url", at, "version", h.version)
	select {
	case err = <-served:
	case <-ctx.Done():
		h.log.Info("ending: calls that run are finished first", "at_most", finishTime)
	}
	leave()
	face.Close() // listen streams end, calls go on
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTime)
	defer cancel()
	return errors.Join(err, server.Shutdown(finish), h.Close())
}

// site is what is served over HTTP, and to whom.
func (h *Host) site(face *mcp.Face) httpface.Config {
	c := h.config.HTTP
	anonymous, authenticated := h.openTo()
	hosts, origins := c.AllowedHosts, c.AllowedOrigins
	if public, err := url.Parse(c.PublicURL); err == nil && public.Host != "" { // which is this host
		hosts = append(slices.Clone(hosts), public.Host)
		origins = append(slices.Clone(origins), public.Scheme+"://"+public.Host)
	}
	return httpface.Config{
		Listen: c.Listen, MCPPath: c.Path, MCP: face.Handler(), Ready: h.readiness,
		Bounds: httpface.Bounds{
			Header: int(c.MaxHeader), Body: c.MaxBody,
			HeaderTime: c.HeaderTimeout, BodyTime: c.BodyTimeout, IdleTime: c.IdleTimeout,
			Connections: c.MaxConnections, Idle: c.MaxIdle, InFlight: c.MaxInFlight,
		},
		AllowedHosts: hosts, AllowedOrigins: origins,
		Identify: h.entrance.identify(), As: as, Authenticated: authenticated, Anonymous: anonymous,
		Routes: []httpface.Route{{Pattern: "GET /metrics", Access: httpface.Watchers, Handler: h.metrics}},
		Told:   h.exchanged, Refused: h.refused, Numbered: h.config.Log.Access,
		Resource: h.resource(), Log: telemetry.Slog(h.log.Named("http")),
	}
}

// approvalPage is where people decide.
func (h *Host) approvalPage(operators *auth.Operators, log *slog.Logger) http.Handler {
	return approve.Handler(approve.Config{
		Host: h.config.Name, Desk: h.desk(), Operators: operators, Sealer: h.sealed, PublicURL: h.config.HTTP.PublicURL,
		Login: h.entrance.login,
		Tool: func(name string) (title string, spec, origin tool.Digest, there bool) {
			o, there := h.registry.Snapshot().Find(name)
			if !there {
				return "", spec, origin, false
			}
			return o.Spec.Title, o.Spec.Digest, o.Origin, true
		},
		MaxForm: h.config.HTTP.MaxBody, Log: log,
	})
}

// resource is what clients are told about where to get a token; nil: nothing. A host
// in another program serves no place that would say it.
func (h *Host) resource() *httpface.Resource {
	if h.embedded || h.config.HTTP.Auth == nil || h.config.HTTP.Auth.Issuer == "" {
		return nil
	}
	r := &httpface.Resource{URL: h.config.HTTP.PublicURL, Issuers: []string{h.config.HTTP.Auth.Issuer}, Name: h.config.Name}
	if h.config.HTTP.Auth.StepUp { // otherwise nobody is told what there is to ask for
		for _, rule := range h.config.Rules {
			r.Scopes = append(r.Scopes, rule.Scopes...)
		}
		slices.Sort(r.Scopes)
		r.Scopes = slices.Compact(r.Scopes)
	}
	return r
}

// openTo says whether callers without a name are wanted, and whether there are none.
func (h *Host) openTo() (anonymous, authenticated bool) {
	anonymous = h.config.HTTP.AllowAnonymous != nil && *h.config.HTTP.AllowAnonymous
	return anonymous, h.entrance.authenticates() && !anonymous
}

// ownFiles is how many files a host has open beside its clients' connections: its
// store, and what each adapter takes.
const ownFiles = 256

// warn says what is risky about how the host is reached.
func (h *Host) warn(url string, private, authenticated, anonymous bool) {
	if n, known := mayOpen(); known && n < uint64(h.config.HTTP.MaxConnections)+ownFiles { //nolint:gosec // it is positive
		h.log.Warn("fewer files may be open than http.max_connections needs: when there are too many clients, adapters and the store fail too; "+
			"raise the limit (LimitNOFILE, ulimit -n) or lower the key", "may_be_open", n, "needed", h.config.HTTP.MaxConnections+ownFiles)
	}
	switch {
	case authenticated && private:
	case authenticated:
		h.log.Warn("NO TLS: tokens, arguments and results cross the network in clear text, and whoever reads a token can use it; "+
			"set http.tls, or put a proxy that speaks TLS in front of this address", "url", url)
	case anonymous:
		h.log.Warn("anyone who can reach this address can call every tool", "url", url)
	default:
		h.log.Warn("no authentication: only this user's clients on this machine may call", "url", url)
	}
}

// readiness is the answer of /readyz.
func (h *Host) readiness() httpface.Readiness {
	// What comes later does not make a host unready that was ready.
	if !h.tried.Load() && h.reconciler.Tried() {
		h.tried.Store(true)
	}
	r := httpface.Readiness{Ready: h.tried.Load(), Faults: append(h.notes(), h.entrance.faults()...)}
	for _, s := range h.reconciler.Status() {
		if s.Cause != "" {
			r.Faults = append(r.Faults, fmt.Sprintf("adapter %s is %s: %s", s.Name, s.State, s.Cause))
		}
	}
	if err := h.vault.health(); err != nil {
		r.Ready = false
		r.Faults = append(r.Faults, "store: "+err.Error())
	}
	// What follows keeps calls with effects from running, and no others.
	if err := h.vault.spool.Fault(); err != nil {
		r.Faults = append(r.Faults, "ledger: "+err.Error()+"; until then no call with effects runs")
	}
	if lost := h.vault.store.Health().Lost; lost > 0 {
		r.Faults = append(r.Faults, fmt.Sprintf("ledger: %d rows could not be written since the start; the log names them", lost))
	}
	return r
}
