// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// maxCaller is the longest description of a caller, in bytes: it travels in a URL.
const maxCaller = 8 << 10

// Caller is who a call is explained for.
type Caller struct {
	Kind     string          `json:"kind,omitempty"`
	ClientID string          `json:"client_id,omitempty"`
	Issuer   string          `json:"issuer,omitempty"`
	Subject  string          `json:"subject,omitempty"`
	Scopes   []string        `json:"scopes,omitempty"`
	Claims   json.RawMessage `json:"claims,omitempty"`
}

// ParseCaller reads a caller: an object as CEL conditions see a principal, or the
// one form of the ledger, such as stdio/local/ada or anonymous.
func ParseCaller(text string) (*Caller, error) {
	text = strings.TrimSpace(text)
	c := &Caller{}
	switch {
	case len(text) > maxCaller:
		return nil, fmt.Errorf("is longer than %d bytes", maxCaller)
	case strings.HasPrefix(text, "{"):
		if err := strictly(text, c); err != nil {
			return nil, err
		}
	case strings.HasPrefix(text, "["):
		var parts []string
		if err := strictly(text, &parts); err != nil {
			return nil, err
		}
		if len(parts) != 3 {
			return nil, errors.New("is no token's form: a list of client id, issuer and subject")
		}
		c.ClientID, c.Issuer, c.Subject = parts[0], parts[1], parts[2]
		c.Kind = string(tool.Token)
	case text == "anonymous":
		c.Kind = text
	default:
		kind, subject, ok := strings.Cut(text, "/")
		if kind == string(tool.Stdio) {
			subject, ok = strings.CutPrefix(subject, "local/")
		}
		if !ok {
			return nil, fmt.Errorf("%q is no caller: it is an object with kind, client_id, issuer, subject, scopes and claims, "+
				"or anonymous, stdio/local/USER, named/NAME or operator/USER", text)
		}
		c.Kind, c.Subject = kind, subject
	}
	if c.Kind == "" && c.ClientID != "" {
		c.Kind = string(tool.Token)
	}
	_, err := c.principal()
	return c, err
}

// strictly reads one JSON value that has nothing unknown and nothing behind it.
func strictly(text string, v any) error {
	if _, err := tool.ParseJSON([]byte(text)); err != nil {
		return fmt.Errorf("is no JSON: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("is no caller: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("has something behind the caller")
	}
	return nil
}

// principal is the caller as rules see it.
func (c *Caller) principal() (tool.Principal, error) {
	p := tool.Principal{Kind: tool.PrincipalKind(c.Kind), ClientID: c.ClientID, Issuer: c.Issuer, Subject: c.Subject, Scopes: c.Scopes}
	alone := c.Issuer == "" && c.ClientID == "" && len(c.Scopes) == 0 && len(c.Claims) == 0
	switch {
	case c.Kind == "anonymous":
		if c.Subject != "" || !alone {
			return p, errors.New("is anonymous, and has a name all the same")
		}
		return tool.Principal{}, nil
	case p.Kind == tool.Stdio || p.Kind == tool.Operator:
		if c.Subject == "" || !alone {
			return p, fmt.Errorf("of kind %s has a subject, and nothing else", c.Kind)
		}
	case p.Kind == tool.Named:
		if c.Subject == "" {
			return p, errors.New("of kind named has a subject")
		}
	case p.Kind != tool.Token:
		return p, fmt.Errorf("has the kind %q: it is anonymous, stdio, operator, token or named", c.Kind)
	}
	if len(c.Claims) > 0 {
		var err error
		if p.Claims, err = tool.ParseArgs(c.Claims); err != nil {
			return p, errors.New("has claims that are no object")
		}
	}
	return p, nil
}
