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
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// guard judges every request before any route does.
type guard struct {
	hosts, origins []string
	open           bool // to every peer
	bounds         Bounds
	numbered       bool
	told           func(Exchange)
	log            *slog.Logger
}

func newGuard(c Config, local bool) *guard {
	g := &guard{
		open: c.Authenticated || c.Anonymous && !local, bounds: c.Bounds.orDefaults(), numbered: c.Numbered, told: c.Told, log: c.Log,
	}
	for _, h := range c.AllowedHosts {
		g.hosts = append(g.hosts, strings.ToLower(h))
	}
	for _, o := range c.AllowedOrigins {
		g.origins = append(g.origins, strings.ToLower(strings.TrimSuffix(o, "/")))
	}
	return g
}

type connectionKey struct{}

// connected remembers the connection of a request, so that its owner is looked
// up once for all requests that it carries.
func (g *guard) connected(ctx context.Context, conn net.Conn) context.Context {
	owner := sync.OnceValues(func() (bool, error) { return ownPeer(conn.RemoteAddr(), conn.LocalAddr()) })
	ctx = context.WithValue(ctx, connectionKey{}, owner)
	if m := memberOf(conn); m != nil {
		ctx = context.WithValue(ctx, memberKey{}, m)
	}
	return ctx
}

// around serves what the guard lets in, within its bounds, and tells of every
// request.
func (g *guard) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served(r.Context())
		a := &answering{ResponseWriter: w, control: http.NewResponseController(w), exchange: Exchange{
			Began: time.Now(), Method: method(r.Method), Peer: r.RemoteAddr,
		}}
		if g.numbered {
			a.exchange.ID = idOf(r)
			a.Header().Set(requestID, a.exchange.ID)
		}
		body := g.bounded(a, r)
		defer func() {
			body.end()
			if g.told != nil {
				a.exchange.Route, a.exchange.Took = route(r), time.Since(a.exchange.Began)
				g.told(a.exchange)
			}
		}()
		if status, code, message := g.judge(r); code != "" {
			g.log.Warn("request refused", "error", code, "peer", r.RemoteAddr, "path", shown(r.URL.Path))
			refuse(a, status, code, message)
			return
		}
		next.ServeHTTP(a, r)
	})
}

const requestID = "X-Request-ID"

// harmlessID is what an id of a client's may be.
var harmlessID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// idOf is a request's id.
func idOf(r *http.Request) string {
	if id := r.Header.Get(requestID); harmlessID.MatchString(id) {
		return id
	}
	return tool.NewID("req_")
}

// method is one of HTTP's own, or "_OTHER": others are the client's words.
func method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return m
	default:
		return "_OTHER"
	}
}

// judge returns why a request is refused; code is empty if it is not.
func (g *guard) judge(r *http.Request) (status int, code, message string) {
	if code, message := g.judgeSender(r); code != "" {
		return http.StatusForbidden, code, message
	}
	if r.Method == http.MethodConnect {
		return http.StatusMethodNotAllowed, "method-not-allowed", "this is no proxy"
	}
	if r.ContentLength > g.bounds.Body {
		return http.StatusRequestEntityTooLarge, "body-too-large",
			fmt.Sprintf("the request has more than %d bytes; send less, or raise http.max_body", g.bounds.Body)
	}
	return 0, "", ""
}

func (g *guard) judgeSender(r *http.Request) (code, message string) {
	if !g.open {
		if code, message := judgePeer(r); code != "" {
			return code, message
		}
	}
	if !g.allowsHost(r.Host) {
		return "host-not-allowed", "the Host header names " + shown(r.Host) + "; list it under http.allowed_hosts"
	}
	for _, origin := range r.Header.Values("Origin") {
		if !g.allowsOrigin(origin) {
			return "origin-not-allowed", "a page of " + shown(origin) + " may not call; list it under http.allowed_origins"
		}
	}
	return "", ""
}

// judgePeer lets in the host's own user on this machine only. Without
// authentication, whoever can speak can call every tool.
func judgePeer(r *http.Request) (code, message string) {
	if !isLoopback(r.RemoteAddr) {
		return "non-local-client", "without authentication only clients on this machine may call"
	}
	for name := range r.Header {
		if forwards(name) {
			return "non-local-client", "the request came through a proxy (" + name +
				"), so its sender cannot be told; without authentication only clients on this machine may call"
		}
	}
	own, err := ownClient(r)
	if err != nil {
		return "other-local-user", "the client's user cannot be told: " + err.Error()
	}
	if !own {
		return "other-local-user", "without authentication only the user that the host runs as may call"
	}
	return "", ""
}

// forwards reports whether a header is one that proxies add.
func forwards(name string) bool {
	switch name {
	case "Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Original-Forwarded-For", "True-Client-Ip", "Cf-Connecting-Ip":
		return true
	default:
		return strings.HasPrefix(name, "X-Forwarded-")
	}
}

// ownClient reports whether the host's own user sends a request. A connection that
// this package has not accepted, but another server of this process, is asked about
// with each request.
func ownClient(r *http.Request) (bool, error) {
	if owner, ok := r.Context().Value(connectionKey{}).(func() (bool, error)); ok {
		return owner()
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if !ok || err != nil {
		return false, errors.New("its connection is not known")
	}
	return ownPeer(net.TCPAddrFromAddrPort(remote), local)
}

func isLoopback(remote string) bool {
	addr, err := netip.ParseAddrPort(remote)
	return err == nil && addr.Addr().Unmap().IsLoopback()
}

// allowsHost holds the Host header to the names that this host goes by: a page
// whose name was made to lead here (DNS rebinding) has another.
func (g *guard) allowsHost(host string) bool {
	host = strings.ToLower(host)
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	return isLocalName(name) || slices.Contains(g.hosts, host) || slices.Contains(g.hosts, name)
}

// allowsOrigin: pages of this machine, and those that are listed. "null" is no
// page of this machine.
func (g *guard) allowsOrigin(origin string) bool {
	origin = strings.ToLower(origin)
	if slices.Contains(g.origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && isLocalName(u.Hostname())
}

func isLocalName(name string) bool {
	return name == "localhost" || name == "127.0.0.1" || name == "::1"
}

// shown is what a header says, made harmless and short.
func shown(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	if len(s) > 100 {
		s = s[:100] + "..."
	}
	if s == "" {
		return "nothing"
	}
	return s
}
