// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"encoding/json"
	"fmt"
	"slices"
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
	// Named is whoever the operator's expression says that a request is from.
	Named PrincipalKind = "named"
)

// Principal is who calls, as proven by the transport; never what a client says
// about itself. Who it is, is Kind, Subject, ClientID and Issuer; what its token
// says beside that is for rules, and may be another with its next token.
type Principal struct {
	Kind PrincipalKind
	// Subject is the local user for Stdio and Operator, the token's subject
	// for Token, the name for Named.
	Subject string
	// ClientID and Issuer are those of a Token.
	ClientID, Issuer string
	// Scopes are what the token grants, for Token and Named.
	Scopes []string
	// Claims are the token's, one object, without what is about the token
	// itself (its id and times); no value: nothing more is known.
	Claims JSON
}

// Is reports whether two are the same caller, whatever their tokens grant.
func (p Principal) Is(q Principal) bool {
	return p.Kind == q.Kind && p.Subject == q.Subject && p.ClientID == q.ClientID && p.Issuer == q.Issuer
}

// Has reports whether the token grants every one of some scopes.
func (p Principal) Has(scopes ...string) bool {
	for _, s := range scopes {
		if !slices.Contains(p.Scopes, s) {
			return false
		}
	}
	return true
}

// ScopeOperate is the scope of a token whose bearer is an operator.
const ScopeOperate = "toolwharf:operate"

// Operates reports whether this is an operator: who may decide approvals.
func (p Principal) Operates() bool { return p.Kind == Operator || p.Has(ScopeOperate) }

// Standing tells apart all that rules can tell apart: the same caller with
// another token may be allowed something else.
func (p Principal) Standing() string {
	if len(p.Scopes) == 0 && p.Claims.IsZero() {
		return p.String()
	}
	scopes, _ := json.Marshal(p.Scopes) //nolint:errchkjson // strings always marshal
	return fmt.Sprintf("%s\x00%s\x00%s", p, scopes, p.Claims.Digest())
}

// IsAnonymous reports whether nobody was proven.
func (p Principal) IsAnonymous() bool { return p.Kind == Anonymous }

// String returns the principal in the one form that the ledger, ids and logs
// use: "anonymous", "stdio/local/<user>", "operator/<user>", "named/<name>",
// or a JSON array of client id, issuer and subject, in which no part can imitate
// another.
func (p Principal) String() string {
	switch p.Kind {
	case Stdio:
		return "stdio/local/" + p.Subject
	case Operator:
		return "operator/" + p.Subject
	case Named:
		return "named/" + p.Subject
	case Token:
		b, _ := json.Marshal([]string{p.ClientID, p.Issuer, p.Subject}) //nolint:errchkjson // strings always marshal
		return strings.TrimSpace(string(b))
	case Anonymous:
		return "anonymous"
	default:
		return "unknown/" + string(p.Kind)
	}
}

// Names returns what a rule may call the principal by: the one form of String,
// and of a Token its client id and subject, of a Named its name, each alone
// where it could not be taken for another principal's form.
func (p Principal) Names() []string {
	names := []string{p.String()}
	switch p.Kind {
	case Token:
		for _, part := range []string{p.ClientID, p.Subject} {
			if isPlain(part) {
				names = append(names, part)
			}
		}
	case Named:
		if isPlain(p.Subject) {
			names = append(names, p.Subject)
		}
	case Anonymous, Stdio, Operator:
	}
	return names
}

// isPlain reports whether a text is not like any principal's form.
func isPlain(s string) bool {
	kind, _, found := strings.Cut(s, "/")
	if found && (kind == "stdio" || kind == "operator" || kind == "named" || kind == "unknown") {
		return false
	}
	return s != "" && s != "anonymous" && s[0] != '['
}
