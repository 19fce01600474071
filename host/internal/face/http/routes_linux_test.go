// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// everything is a configuration with every kind of route, and counts who comes to
// one.
func everything(reached *notes[string]) Config {
	visit := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.add(r.URL.Path)
		answer(w, http.StatusOK, refusal{})
	})
	return Config{
		MCPPath: "/mcp", MCP: visit, Log: slog.New(slog.DiscardHandler),
		Ready: func() Readiness { reached.add("/readyz"); return Readiness{Ready: true, Faults: []string{"a fault"}} },
		Routes: []Route{
			{"GET /watched", Watchers, visit}, {Pattern: "/silent", Handler: visit}, {"POST /called/{id}", Callers, visit},
		},
		Operator: func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer operator" },
	}
}

func TestNoRouteIsWithoutTheGuard(t *testing.T) {
	var reached notes[string]
	c := everything(&reached)
	s := running(t, c)
	for _, r := range newSite(c, true).table() {
		method, path, ok := strings.Cut(r.Pattern, " ")
		if !ok {
			method, path = http.MethodPost, r.Pattern
		}
		path = strings.ReplaceAll(path, "{id}", "1")
		for header, code := range map[string]string{
			"Host: evil.example":                                 "host-not-allowed",
			"Host: localhost\r\nOrigin: https://evil.example":    "origin-not-allowed",
			"Host: localhost\r\nX-Forwarded-For: 1.2.3.4":        "non-local-client",
			"Host: localhost\r\nForwarded: for=1.2.3.4;proto=ws": "non-local-client",
		} {
			if a := say(t, dial(t, s), method+" "+path+" HTTP/1.1\r\n"+header+"\r\n\r\n"); a.status != http.StatusForbidden || a.Error != code {
				t.Errorf("%s with %q: %+v", r.Pattern, header, a)
			}
		}
	}
	for _, line := range []string{"OPTIONS *", "CONNECT evil.example:1", "TRACE /mcp", "GET //healthz", "GET /mcp/../healthz", "PROPFIND /"} {
		if a := say(t, dial(t, s), line+" HTTP/1.1\r\nHost: evil.example\r\n\r\n"); a.status != http.StatusForbidden && a.status != http.StatusBadRequest {
			t.Errorf("%s: %+v", line, a)
		}
	}
	if a := say(t, dial(t, s), "CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n"); a.status != http.StatusMethodNotAllowed {
		t.Errorf("CONNECT: %+v", a)
	}
	if got := reached.list(); len(got) > 0 {
		t.Errorf("came through to %v", got)
	}
}

func TestARouteIsForThoseItIsFor(t *testing.T) {
	for name, c := range map[string]struct {
		authenticated bool
		header        string
		served        string
	}{
		"near":                      {false, "", "/mcp /watched /silent /called/1"},
		"near, with names":          {true, "", "/mcp /watched /silent /called/1"},
		"through a proxy":           {true, "X-Forwarded-For: 1.2.3.4\r\n", "/mcp /called/1"},
		"an operator through one":   {true, "X-Forwarded-For: 1.2.3.4\r\nAuthorization: Bearer operator\r\n", "/mcp /watched /silent /called/1"},
		"who is none through a one": {true, "X-Forwarded-For: 1.2.3.4\r\nAuthorization: Bearer other\r\n", "/mcp /called/1"},
	} {
		t.Run(name, func(t *testing.T) {
			var reached notes[string]
			config := everything(&reached)
			config.Authenticated = c.authenticated
			s := running(t, config)
			for _, line := range []string{"POST /mcp", "GET /watched", "GET /silent", "POST /called/1"} {
				a := say(t, dial(t, s), line+" HTTP/1.1\r\nHost: localhost\r\n"+c.header+"\r\n")
				if a.status != http.StatusOK && (a.status != http.StatusForbidden || a.Error != "operators-only") {
					t.Errorf("%s: %+v", line, a)
				}
			}
			if got := strings.Join(reached.list(), " "); got != c.served {
				t.Errorf("served %s", got)
			}
			conn := dial(t, s)
			_, _ = io.WriteString(conn, "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"+c.header+"\r\n")
			raw, err := io.ReadAll(conn)
			if err != nil || strings.Contains(string(raw), "a fault") != strings.Contains(c.served, "/watched") {
				t.Errorf("readyz: %s, %v", raw, err)
			}
		})
	}
}
