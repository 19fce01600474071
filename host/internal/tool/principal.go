// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"encoding/json"
	"strings"
)

// PrincipalKind says how a principal was proven.
type PrincipalKind string

// The zero kind is Anonymous: nobody.
const (
	Anonymous PrincipalKind = ""
	// Stdio is the local user at the other end of a stdio connection.
	Stdio PrincipalKind = "stdio"
	// Operator is the holder of the operator token or of the control socket.
	Operator PrincipalKind = "operator"
	// Token is the bearer of a verified token.
	Token PrincipalKind = "token"
)

// Principal is who calls, as proven by the transport; never what a client says
// about itself.
type Principal struct {
	Kind PrincipalKind
	// Subject is the local user for Stdio and Operator, the token's subject
	// for Token.
	Subject string
	// ClientID and Issuer are those of a Token.
	ClientID, Issuer string
}

// IsAnonymous reports whether nobody was proven.
func (p Principal) IsAnonymous() bool { return p.Kind == Anonymous }

// String returns the principal in the one form that the ledger, ids and logs
// use: "anonymous", "stdio/local/<user>", "operator/<user>", or a JSON array
// of client id, issuer and subject, in which no part can imitate another.
func (p Principal) String() string {
	switch p.Kind {
	case Stdio:
		return "stdio/local/" + p.Subject
	case Operator:
		return "operator/" + p.Subject
	case Token:
		b, _ := json.Marshal([]string{p.ClientID, p.Issuer, p.Subject}) //nolint:errchkjson // strings always marshal
		return strings.TrimSpace(string(b))
	case Anonymous:
		return "anonymous"
	default:
		return "unknown/" + string(p.Kind)
	}
}
