// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"net/http"
	"net/url"
	"strings"
)

// secure reports whether the browser speaks TLS, to this host or to a proxy in
// front of it.
func (p *page) secure(r *http.Request) bool {
	return r.TLS != nil || p.public != nil && p.public.Scheme == "https" && strings.EqualFold(r.Host, p.public.Host)
}

// own reports whether a form was sent by a page of this very host, port and
// scheme. A page of the same name on another port is not.
func (p *page) own(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return false
	}
	origins := r.Header.Values("Origin")
	if len(origins) != 1 {
		return false
	}
	if p.public != nil && strings.EqualFold(origins[0], p.public.Scheme+"://"+p.public.Host) {
		return true // a proxy may have another name for this host
	}
	scheme := "http"
	if p.secure(r) {
		scheme = "https"
	}
	return strings.EqualFold(origins[0], scheme+"://"+r.Host)
}

// elsewhere reports whether a link on a page of another site was followed: the
// browser then keeps the cookie of a session to itself (SameSite=Strict), until
// this host has answered once.
func elsewhere(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return site == "cross-site" || site == "same-site"
}

// publicOf is the URL under which people reach this host, nil if there is none.
func publicOf(raw string) *url.URL {
	u, err := url.Parse(raw)
	if raw == "" || err != nil {
		return nil
	}
	return u
}
