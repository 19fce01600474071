// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// reservedPaths are the host's own; the MCP endpoint cannot be at or below them.
var reservedPaths = []string{"/v1", "/console", "/approve", "/healthz", "/readyz", "/metrics", "/.well-known"}

// URL is where clients on this machine reach MCP, or all, where the file says under
// which name they do.
func (h HTTP) URL() string {
	base := strings.TrimSuffix(h.PublicURL, "/")
	switch {
	case base != "":
	case h.TLS != nil:
		base = "https://" + h.Listen
	default:
		base = "http://" + h.Listen
	}
	return base + h.Path
}

func (c checker) http() {
	h := c.cfg.HTTP
	if c.has("http", "max_body") && (h.MaxBody < 1 || h.MaxBody > 1<<30) {
		c.refuse([]string{"http", "max_body"}, "", "must be at least 1B and at most 1GiB")
	}
	if c.has("http", "max_header") && (h.MaxHeader < 4<<10 || h.MaxHeader > 1<<20) {
		c.refuse([]string{"http", "max_header"}, "", "must be at least 4KiB and at most 1MiB")
	}
	for key, d := range map[string]time.Duration{"header_timeout": h.HeaderTimeout, "body_timeout": h.BodyTimeout, "idle_timeout": h.IdleTimeout} {
		if c.has("http", key) && (d < 100*time.Millisecond || d > time.Hour) {
			c.refuse([]string{"http", key}, "", "must be at least 100ms and at most 1h")
		}
	}
	for _, reserved := range reservedPaths {
		if h.Path == reserved || strings.HasPrefix(h.Path, reserved+"/") {
			c.refuse([]string{"http", "path"}, "", "is taken: %s is the host's own", reserved)
		}
	}
	local, ok := loopback(h.Listen)
	if !ok {
		c.refuse([]string{"http", "listen"}, "", "must be address:port such as 127.0.0.1:8000 or [::1]:8000")
		return
	}
	if local {
		return
	}
	anonymous := h.AllowAnonymous != nil && *h.AllowAnonymous
	if !anonymous && !h.Auth.authenticates() {
		c.refuse([]string{"http", "listen"}, "set http.auth.tokens, listen on 127.0.0.1, or say http.allow_anonymous: true",
			"other machines could call every tool without a name")
	}
	if len(h.AllowedHosts) == 0 {
		c.refuse([]string{"http", "allowed_hosts"}, "list the host names under which clients reach this host",
			"is missing, and http.listen is no loopback address")
	}
}

// loopback reports whether only this machine can reach a listen address; ok is
// false when it is no host:port.
func loopback(listen string) (local, ok bool) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return false, false
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return false, false
	}
	if strings.ContainsAny(host, " \t\r\n/@") {
		return false, false
	}
	if host == "localhost" {
		return true, true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback(), true
}
