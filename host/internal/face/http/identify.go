// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"maps"
	"net/http"
)

// identified serves MCP to those who say who they are.
func identified(c Config) http.Handler {
	if c.Identify == nil {
		return c.MCP
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, refused := c.Identify(r)
		if refused != nil {
			c.Log.Warn("request refused", "error", refused.Code, "message", refused.Text, "cause", refused.Err, "peer", r.RemoteAddr, "path", r.URL.Path)
			if refused.Challenge != "" {
				w.Header().Set("WWW-Authenticate", refused.Challenge)
			}
			refuse(w, refused.Status, refused.Code, refused.Text)
			return
		}
		r = r.WithContext(ctx)
		r.Header = maps.Clone(r.Header) // nothing behind this needs the token
		r.Header.Del("Authorization")
		c.MCP.ServeHTTP(w, r)
	})
}
