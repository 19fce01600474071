// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Claims are what a verified token says; the zero Claims are those of no token.
type Claims struct {
	ClientID, Issuer, Subject string
	Scopes                    []string
	// Expires is when the token ends; zero: it does not say.
	Expires time.Time
	// Fresh is until when all this need not be asked about again; zero: it is never.
	Fresh time.Time
	// Rest is all that it says, one object, without what is about the token
	// itself; no value: nothing more is known.
	Rest tool.JSON
}

// Verifier tells what a token says. Of a token that is none of its own, or no good
// any more, it returns ErrInvalid; ErrUnavailable if it cannot tell at the moment.
type Verifier interface {
	Verify(ctx context.Context, token string) (Claims, error)
}

// Door is where requests say who they are from.
type Door struct {
	// Verifier knows tokens; nil: none are, and what requests bring is not
	// looked at.
	Verifier Verifier
	// Names, if not nil, names the caller in the place of its token.
	Names *Names
	// Anonymous: a request that brings no token, or that Names has no name
	// for, is nobody's. Otherwise it is refused.
	Anonymous bool
}

// Refusal is why a request is not served.
type Refusal struct {
	// Status is 401, 403 or 503.
	Status int
	// Code and Text are for the client. They never hold what it sent.
	Code, Text string
	// Challenge is the WWW-Authenticate header (RFC 6750, 3) of a 401.
	Challenge string
	// Err is for the operator's log; nil if Text says all.
	Err error
}

// Caller is who sends a request.
type Caller struct {
	tool.Principal

	// Until is when that ends: its token does, or it has to be asked about again.
	// Zero: it has none, or one without an end.
	Until time.Time
	// Again says who the request is from then; nil: nobody any more.
	Again func(context.Context) (Caller, *Refusal)
}

// Identify says who sends a request; the refusal, if not nil, why it is not to
// be served.
func (d *Door) Identify(r *http.Request) (Caller, *Refusal) {
	claims, proven, refused := d.claims(r)
	if refused != nil {
		return Caller{}, refused
	}
	who := Caller{Until: claims.Expires}
	if !claims.Fresh.IsZero() && (who.Until.IsZero() || claims.Fresh.Before(who.Until)) {
		who.Until = claims.Fresh
		who.Again = func(ctx context.Context) (Caller, *Refusal) { return d.Identify(r.WithContext(ctx)) }
	}
	switch {
	case d.Names != nil:
		who.Principal, refused = d.named(r, claims)
	case proven:
		who.Principal = claims.principal()
	}
	return who, refused
}

// principal is the bearer of the token.
func (c Claims) principal() tool.Principal {
	return tool.Principal{
		Kind: tool.Token, ClientID: c.ClientID, Issuer: c.Issuer, Subject: c.Subject,
		Scopes: slices.Compact(slices.Sorted(slices.Values(c.Scopes))), Claims: c.Rest,
	}
}

// claims are those of the request's token, if there is a token to be had.
func (d *Door) claims(r *http.Request) (c Claims, proven bool, refused *Refusal) {
	if d.Verifier == nil {
		return Claims{}, false, nil
	}
	if r.URL.Query().Has("access_token") {
		return Claims{}, false, inURL()
	}
	token, sent, ok := bearer(r.Header)
	switch {
	case !sent && d.Anonymous:
		return Claims{}, false, nil
	case !sent:
		return Claims{}, false, &Refusal{
			Status: http.StatusUnauthorized, Code: codeUnauthorized, Challenge: challenge,
			Text: "a token is needed; send it as Authorization: Bearer <token>",
		}
	case !ok:
		return Claims{}, false, malformed()
	}
	c, err := d.Verifier.Verify(r.Context(), token)
	switch {
	case errors.Is(err, ErrUnavailable):
		return Claims{}, false, &Refusal{
			Status: http.StatusServiceUnavailable, Code: "issuer-unavailable", Err: err,
			Text: "tokens cannot be checked at the moment; try again later",
		}
	case err != nil:
		refused := unknown()
		refused.Err = err
		return Claims{}, false, refused
	}
	return c, true, nil
}

// named asks the expression.
func (d *Door) named(r *http.Request, c Claims) (tool.Principal, *Refusal) {
	name, err := d.Names.Name(r.Context(), r.Header, peer(r), c)
	switch {
	case err != nil:
		return tool.Principal{}, &Refusal{
			Status: http.StatusForbidden, Code: "principal-failed", Err: err,
			Text: "who sends this cannot be told: http.auth.principal failed for it; the host's log says why",
		}
	case name == "" && !d.Anonymous:
		return tool.Principal{}, &Refusal{
			Status: http.StatusUnauthorized, Code: codeUnauthorized, Challenge: challenge,
			Text: "the request names nobody, and callers without a name are not served",
		}
	case name == "":
		return tool.Principal{}, nil
	default:
		p := c.principal() // what the token grants is its, whatever it is called
		p.Kind, p.Subject, p.ClientID, p.Issuer = tool.Named, name, "", ""
		return p, nil
	}
}

const (
	codeUnauthorized = "unauthorized"
	challenge        = `Bearer realm="toolwharf"`
)

// invalid is the refusal of a token that was sent and is no good.
func invalid(text string) *Refusal {
	return &Refusal{
		Status: http.StatusUnauthorized, Code: codeUnauthorized, Text: text,
		Challenge: challenge + `, error="invalid_token", error_description="` + text + `"`,
	}
}

func inURL() *Refusal {
	return invalid("a token in the URL is not accepted: it would stand in logs; send it in the Authorization header")
}

func malformed() *Refusal {
	return invalid("the Authorization header holds no single bearer token; send Authorization: Bearer <token>")
}

func unknown() *Refusal {
	return invalid("the token is not known here, or is no good any more; ask for another")
}

// peer is the address of the request's other end, without its port.
func peer(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return at.Addr().Unmap().WithZone("").String()
}
