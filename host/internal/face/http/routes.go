// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"net/http"
	"slices"
	"strings"
)

// Access says who may use a route, of those whom the guard lets in at all.
type Access int

const (
	// Watchers: operators, and the host's own user on this machine. It is the
	// zero Access: a route that says nothing is not for everybody.
	Watchers Access = iota
	// Callers: whoever Identify has no objection to.
	Callers
	// Anyone.
	Anyone
)

// Route is one place of the server.
type Route struct {
	// Pattern is http.ServeMux's.
	Pattern string
	Access  Access
	Handler http.Handler
}

// Readiness is the answer of /readyz.
type Readiness struct {
	// Ready: store and listener work and each adapter was tried once.
	Ready bool `json:"-"`
	// Status is "ready" or "starting".
	Status string `json:"status"`
	// Faults are what is not as it should be, each naming what it is about.
	Faults []string `json:"faults"`
}

// table is every route. There is no other way to a handler.
func (s *site) table() []Route {
	own := []Route{
		{s.MCPPath, Callers, s.MCP},
		{"GET /healthz", Anyone, http.HandlerFunc(healthz)},
		{"GET /readyz", Anyone, http.HandlerFunc(s.readyz)},
		{"/", Anyone, http.HandlerFunc(s.nothing)},
	}
	return slices.Concat(own, s.metadata(), s.Routes)
}

// handler serves the table behind the guard.
func (s *site) handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.table() {
		mux.Handle(r.Pattern, s.admits(r.Access, r.Handler))
	}
	return s.guard.around(mux)
}

func healthz(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]string{"status": "ok"})
}

func (s *site) readyz(w http.ResponseWriter, r *http.Request) {
	ready := s.Ready()
	ready.Status = "starting"
	status := http.StatusServiceUnavailable
	if ready.Ready {
		ready.Status, status = "ready", http.StatusOK
	}
	if ready.Faults == nil {
		ready.Faults = []string{}
	}
	if !s.watches(r) {
		answer(w, status, map[string]string{"status": ready.Status})
		return
	}
	answer(w, status, ready)
}

func (s *site) nothing(w http.ResponseWriter, r *http.Request) {
	refuse(w, http.StatusNotFound, "not-found", "there is nothing at "+shown(r.URL.Path)+"; MCP is at "+s.MCPPath)
}

// route is the pattern that served a request, without its method.
func route(r *http.Request) string {
	_, path, ok := strings.Cut(r.Pattern, " ")
	if !ok {
		return r.Pattern
	}
	return path
}
