// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

const (
	// maxPart is the longest client id, issuer and subject, in bytes: they stand
	// in every row of the ledger.
	maxPart = 256
	// maxScopes is how many scopes a token may have.
	maxScopes = 256
)

// members are what a token says, by name. A struct's fields would match in any
// case: "SUB" beside "sub" would be taken for it.
type members map[string]json.RawMessage

// read reads what an issuer says of a token: the payload of a JWT (RFC 9068, 2.2),
// or the answer of introspection (RFC 7662, 2.2). That the issuer said it must have
// been proven.
func read(raw []byte, issuer string) (Claims, error) {
	whole, err := tool.ParseJSON(raw)
	if err != nil {
		return Claims{}, err // each reader of a name that is there twice could see another value
	}
	var m members
	if err := json.Unmarshal(whole.Bytes(), &m); err != nil || m == nil {
		return Claims{}, errors.New("it is no object")
	}
	c := Claims{Issuer: issuer, Subject: m.text("sub"), ClientID: m.text("client_id"), Expires: m.time("exp")}
	if c.ClientID == "" {
		c.ClientID = m.text("azp")
	}
	if c.ClientID == "" && c.Subject == "" {
		return Claims{}, errors.New("it names neither a client (client_id, azp) nor a subject (sub)")
	}
	for _, part := range []string{c.ClientID, c.Issuer, c.Subject} {
		if len(part) > maxPart || strings.ContainsFunc(part, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return Claims{}, fmt.Errorf("client, issuer and subject are printable texts of at most %d bytes", maxPart)
		}
	}
	if c.Scopes, err = m.scopes(); err != nil {
		return Claims{}, err
	}
	rest := maps.Clone(m)
	for _, own := range []string{"exp", "iat", "nbf", "jti", "active"} { // the next token's are others
		delete(rest, own)
	}
	canonical, err := json.Marshal(rest)
	if err != nil {
		return Claims{}, err
	}
	c.Rest, err = tool.ParseJSON(canonical)
	return c, err
}

// text is a member that is a text; "" if it is none.
func (m members) text(name string) string {
	var s string
	_ = json.Unmarshal(m[name], &s) // what is no text says nothing
	return s
}

// texts are a member that is a text or a list of texts.
func (m members) texts(name string) (list []string, ok bool) {
	raw, there := m[name]
	if !there {
		return nil, true
	}
	if json.Unmarshal(raw, &list) == nil {
		return list, true
	}
	var one string
	if json.Unmarshal(raw, &one) != nil {
		return nil, false
	}
	return []string{one}, true
}

// time is a member that is a number of seconds since 1970; zero if it is none.
func (m members) time(name string) time.Time {
	var seconds float64
	if json.Unmarshal(m[name], &seconds) != nil || seconds <= 0 || seconds > 1<<40 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0)
}

// scopes are what the token grants: scope (RFC 6749, 3.3), a text or a list, and
// scp, which some issuers say in its place.
func (m members) scopes() ([]string, error) {
	var all []string
	for _, name := range []string{"scope", "scp"} {
		list, ok := m.texts(name)
		if !ok {
			return nil, fmt.Errorf("%s is neither a text nor a list of texts", name)
		}
		for _, s := range list {
			all = append(all, strings.Fields(s)...)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > maxScopes {
		return nil, fmt.Errorf("it has more than %d scopes", maxScopes)
	}
	return all, nil
}
