// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"net/http"

	"github.com/toolwharf/toolwharf/host/internal/auth"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// door is where requests over HTTP say who they are from; nil: nobody asks.
func door(c config.HTTP) (*auth.Door, error) {
	if c.Auth == nil {
		return nil, nil //nolint:nilnil // no door is what there is
	}
	d := &auth.Door{Anonymous: c.AllowAnonymous != nil && *c.AllowAnonymous}
	if len(c.Auth.Tokens) > 0 {
		known := &auth.Tokens{}
		for _, t := range c.Auth.Tokens {
			if err := known.Add(t.SHA256, auth.Claims{ClientID: t.ClientID, Subject: t.Subject, Scopes: t.Scopes}); err != nil {
				return nil, fmt.Errorf("http.auth.tokens: %w", err)
			}
		}
		d.Verifier = known
	}
	if c.Auth.Principal != "" {
		names, err := auth.NewNames(c.Auth.Principal)
		if err != nil {
			return nil, fmt.Errorf("http.auth.principal: %w", err)
		}
		d.Names = names
	}
	return d, nil
}

// identify lets requests in through a door.
func identify(d *auth.Door) func(*http.Request) (tool.Principal, *auth.Refusal) {
	if d == nil {
		return nil
	}
	return d.Identify
}
