// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/ext"
)

// Bounds of the expression.
const (
	// maxExpression is its longest text, in bytes.
	maxExpression = 4096
	// maxCost is what one evaluation may cost, in CEL's units: about one for
	// each operation, and for ten characters that are looked at.
	maxCost = 20_000
	// maxName is the longest name, in bytes: it stands in every row of the
	// ledger.
	maxName = 256
)

// Names names the sender of a request by a CEL expression. Its variables are
// headers (lower-case name to value; several of a name are joined by ", "; what
// holds credentials is not there), peer (the IP address of the other end) and
// token (client_id, issuer, subject, scopes) and claims, all that the token says;
// both empty if there is none.
type Names struct {
	program cel.Program
	claims  bool // it looks at them
	// chosen: whoever sends a request has a say in the name.
	chosen bool
}

// token is what the expression sees of a token.
type token struct {
	ClientID string   `cel:"client_id"`
	Issuer   string   `cel:"issuer"`
	Subject  string   `cel:"subject"`
	Scopes   []string `cel:"scopes"`
}

// NewNames compiles an expression, whose value is to be a string.
func NewNames(expression string) (*Names, error) {
	if len(expression) > maxExpression {
		return nil, fmt.Errorf("has more than %d bytes", maxExpression)
	}
	env, err := cel.NewEnv(
		cel.OptionalTypes(), cel.ASTValidators(cel.ValidateRegexLiterals()),
		ext.NativeTypes(reflect.TypeFor[token](), ext.ParseStructTags(true)),
		cel.Variable("headers", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("peer", cel.StringType),
		cel.Variable("token", cel.ObjectType("auth.token")),
		cel.Variable("claims", cel.MapType(cel.StringType, cel.DynType)),
	)
	if err != nil {
		return nil, fmt.Errorf("CEL: %w", err)
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return nil, fmt.Errorf("is no CEL expression over headers, peer, token and claims: character %d: %s",
			first.Location.Column()+1, strings.Join(strings.Fields(first.Message), " "))
	}
	if ast.OutputType() != cel.StringType {
		return nil, fmt.Errorf("must give a string, gives %s", cel.FormatCELType(ast.OutputType()))
	}
	program, err := env.Program(ast, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxCost), cel.InterruptCheckFrequency(100))
	if err != nil {
		return nil, fmt.Errorf("CEL: %w", err)
	}
	n := &Names{program: program}
	for _, r := range ast.NativeRep().ReferenceMap() {
		n.claims = n.claims || r.Name == "claims"
		n.chosen = n.chosen || r.Name == "headers" || r.Name == "peer"
	}
	return n, nil
}

// Name returns the name of who sends a request, "" if the expression has none
// for it.
func (n *Names) Name(ctx context.Context, h http.Header, peer string, c Claims) (string, error) {
	seen := map[string]any{
		"headers": visible(h), "peer": peer,
		"token": token{ClientID: c.ClientID, Issuer: c.Issuer, Subject: c.Subject, Scopes: c.Scopes},
	}
	switch {
	case n.claims && c.Rest.IsZero():
		seen["claims"] = map[string]any{}
	case n.claims:
		claims, err := c.Rest.Exact()
		if err != nil {
			return "", fmt.Errorf("http.auth.principal: the token's claims: %w", err)
		}
		seen["claims"] = claims
	}
	value, _, err := n.program.ContextEval(ctx, seen)
	if err != nil {
		return "", fmt.Errorf("http.auth.principal: %w", err)
	}
	name, ok := value.Value().(string)
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	switch {
	case !ok:
		return "", fmt.Errorf("http.auth.principal: it gave %s, not a string", value.Type().TypeName())
	case len(name) > maxName:
		return "", fmt.Errorf("http.auth.principal: the name has more than %d bytes", maxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unprintable):
		return "", errors.New("http.auth.principal: the name has characters that cannot be printed")
	default:
		return name, nil
	}
}

// visible are the headers that the expression sees. A name goes into the ledger
// and the log, where no credential may be.
func visible(h http.Header) map[string]string {
	m := make(map[string]string, len(h))
	for name, values := range h {
		switch name {
		case "Authorization", "Proxy-Authorization", "Cookie":
		default:
			m[strings.ToLower(name)] = strings.Join(values, ", ")
		}
	}
	return m
}
