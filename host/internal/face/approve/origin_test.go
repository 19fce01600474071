// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestOnlyAFormOfThisVeryHostIsItsOwn(t *testing.T) {
	local, public := &page{}, &page{public: publicOf("https://tools.example.com/wharf")}
	for name, c := range map[string]struct {
		p            *page
		host         string
		tls          bool
		origin, site string
		own, secure  bool
	}{
		"this host":                           {local, "127.0.0.1:8000", false, "http://127.0.0.1:8000", "same-origin", true, false},
		"this host, of a browser that is old": {local, "127.0.0.1:8000", false, "http://127.0.0.1:8000", "", true, false},
		"another port":                        {local, "127.0.0.1:8000", false, "http://127.0.0.1:8001", "", false, false},
		"no port":                             {local, "127.0.0.1:8000", false, "http://127.0.0.1", "", false, false},
		"another scheme":                      {local, "127.0.0.1:8000", false, "https://127.0.0.1:8000", "", false, false},
		"over TLS":                            {local, "x.example", true, "https://x.example", "", true, true},
		"over TLS, from a page without":       {local, "x.example", true, "http://x.example", "", false, true},
		"nothing":                             {local, "127.0.0.1:8000", false, "", "", false, false},
		"null":                                {local, "127.0.0.1:8000", false, "null", "", false, false},
		"another site, it says":               {local, "127.0.0.1:8000", false, "http://127.0.0.1:8000", "cross-site", false, false},
		"through a proxy":                     {public, "tools.example.com", false, "https://tools.example.com", "same-origin", true, true},
		"through one that renames":            {public, "127.0.0.1:8000", false, "https://tools.example.com", "same-origin", true, false},
		"beside the proxy":                    {public, "127.0.0.1:8000", false, "http://127.0.0.1:8000", "", true, false},
		"the proxy's name without TLS":        {public, "tools.example.com", false, "http://tools.example.com", "", false, true},
		"another name":                        {public, "tools.example.com", false, "https://evil.example", "", false, true},
	} {
		r := httptest.NewRequest(http.MethodPost, "/approve/x", nil)
		r.Host = c.host
		if c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		for k, v := range map[string]string{"Origin": c.origin, "Sec-Fetch-Site": c.site} {
			if v != "" {
				r.Header.Set(k, v)
			}
		}
		if own, secure := c.p.own(r), c.p.secure(r); own != c.own || secure != c.secure {
			t.Errorf("%s: own %t, secure %t", name, own, secure)
		}
	}
}
