// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// metadataPath is where clients look for what protects a resource (RFC 9728, 3);
// with the resource's own path behind it, or without.
const metadataPath = "/.well-known/oauth-protected-resource"

// Resource is the MCP endpoint as a resource that tokens of an authorization server
// are for (RFC 9728).
type Resource struct {
	// URL is the host's for its clients, without the endpoint's path; empty: as
	// the request names it.
	URL string
	// Issuers are the authorization servers.
	Issuers []string
	// Scopes are those that may be asked for; empty: it is not said.
	Scopes []string
	// Name is for people.
	Name string
}

// described is the answer (RFC 9728, 2).
type described struct {
	Resource string   `json:"resource"`
	Issuers  []string `json:"authorization_servers"`
	Methods  []string `json:"bearer_methods_supported"`
	Scopes   []string `json:"scopes_supported,omitempty"`
	Name     string   `json:"resource_name,omitempty"`
}

// metadata are the routes of the metadata, for everybody: clients need it to get a
// token.
func (s *site) metadata() []Route {
	if s.Resource == nil {
		return nil
	}
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*") // of those that may call at all
		w.Header().Set("Access-Control-Allow-Headers", "MCP-Protocol-Version")
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		answer(w, http.StatusOK, described{
			Resource: s.base(r) + s.MCPPath, Issuers: s.Resource.Issuers, Methods: []string{"header"},
			Scopes: s.Resource.Scopes, Name: s.Resource.Name,
		})
	})
	var routes []Route
	for _, path := range []string{metadataPath, metadataPath + s.MCPPath} {
		routes = append(routes, Route{"GET " + path, Anyone, serve}, Route{"OPTIONS " + path, Anyone, serve})
	}
	return routes
}

// base is the host's URL for a client. The guard has judged the request's Host.
func (c Config) base(r *http.Request) string {
	if c.Resource.URL != "" {
		return strings.TrimSuffix(c.Resource.URL, "/")
	}
	u := url.URL{Scheme: "http", Host: r.Host}
	if r.TLS != nil {
		u.Scheme = "https"
	}
	return u.String()
}

// Lacking answers who may not call something for want of scopes, and says which
// (RFC 6750, 3.1): a token that grants them is what is needed.
func (c Config) Lacking(w http.ResponseWriter, r *http.Request, who tool.Principal, scopes []string) {
	wanted := `, scope="` + strings.Join(scopes, " ") + `"`
	text := "a token with the scopes " + strings.Join(scopes, ", ") + " is needed for this"
	if who.IsAnonymous() {
		w.Header().Set("WWW-Authenticate", c.challenge(r, `Bearer realm="toolwharf"`+wanted))
		refuse(w, http.StatusUnauthorized, "unauthorized", text)
		return
	}
	w.Header().Set("WWW-Authenticate", c.challenge(r, `Bearer realm="toolwharf", error="insufficient_scope"`+wanted))
	refuse(w, http.StatusForbidden, "insufficient-scope", text)
}

// challenge is a challenge (RFC 6750, 3) that also says where to learn which server
// gives tokens (RFC 9728, 5.1).
func (c Config) challenge(r *http.Request, said string) string {
	if c.Resource == nil || said == "" {
		return said
	}
	return said + `, resource_metadata="` + c.base(r) + metadataPath + c.MCPPath + `"`
}
