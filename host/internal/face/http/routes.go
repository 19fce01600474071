// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"encoding/json"
	"net/http"
)

// Readiness is the answer of /readyz.
type Readiness struct {
	// Ready: store and listener work and each adapter was tried once.
	Ready bool `json:"-"`
	// Status is "ready" or "starting".
	Status string `json:"status"`
	// Faults are what is not as it should be, each naming what it is about.
	Faults []string `json:"faults"`
}

func routes(c Config, local bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(c.MCPPath, identified(c))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ready := c.Ready()
		ready.Status = "starting"
		status := http.StatusServiceUnavailable
		if ready.Ready {
			ready.Status, status = "ready", http.StatusOK
		}
		if ready.Faults == nil {
			ready.Faults = []string{}
		}
		// Faults are for who is near. Behind an address that other machines
		// can reach, a near peer may be a proxy for a far one.
		if far, _ := judgePeer(r); !local || far != "" {
			answer(w, status, map[string]string{"status": ready.Status})
			return
		}
		answer(w, status, ready)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "not-found", "there is nothing at "+r.URL.Path+"; MCP is at "+c.MCPPath)
	})
	return mux
}

// Guarded is MCP for a server that is not this package's, behind the same guard.
// Which other machines reach that server is not known here: without authentication
// only the host's own user on this machine may speak, unless anonymous callers are
// wanted.
func Guarded(c Config) http.Handler {
	return newGuard(c, false).around(identified(c))
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) //nolint:errchkjson // the client may have gone; what is encoded always can be
}

// refusal is the body of every refusal.
type refusal struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, refusal{code, message})
}
