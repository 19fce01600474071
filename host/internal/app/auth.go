// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/toolwharf/toolwharf/host/internal/auth"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
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

// OperatorTokenPath is where the token of the operator lies.
func OperatorTokenPath(c *config.Config) string { return filepath.Join(c.State, "operator.token") }

// operators are who may decide over HTTP. The operator token is made if there is
// none.
func operators(c *config.Config, door *auth.Door) (*auth.Operators, error) {
	var token string
	path := OperatorTokenPath(c)
	err := ledger.LoadOrCreate(path, func() ([]byte, error) {
		fresh, _ := auth.NewToken()
		return []byte(fresh + "\n"), nil
	}, func(content []byte) (err error) {
		token, err = auth.ParseOperatorToken(content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("operator token %s: %w", path, err)
	}
	return auth.NewOperators(door, operator(), token), nil
}
