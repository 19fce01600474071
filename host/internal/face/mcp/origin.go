// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"sync/atomic"
	"time"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// origin is where a request came from: what the transport knows of it and the
// SDK does not hand on.
type origin struct {
	principal tool.Principal
	// gone ends when nobody waits for the answer any more. The SDK ends a
	// handler's context itself for HTTP requests of 2026-07-28 only.
	gone context.Context //nolint:containedctx // a request's, carried through the SDK beside its own
	// envelope is that of an HTTP request; stdio has one for each line.
	envelope *envelope
	// called is the tool that an HTTP request calls, by the name that it
	// calls it by; nil if there is none that the caller may know of.
	called *listing
	// mark is by what to know the client again, see direct.
	mark string
	// trace is that of an HTTP request's headers.
	trace tool.Trace
	stdio bool
	// level is the stdio client's log level of before 2026-07-28, where it
	// is set once for a connection; a string.
	level atomic.Value
	// subscribed is what a stdio client of before 2026-07-28 hears of.
	subscribed subscriptions
}

type (
	principalKey struct{}
	endKey       struct{}
	originKey    struct{}
)

// WithPrincipal returns a context whose HTTP requests are made by p. It is for
// the one who has proven p; without it a caller is anonymous.
func WithPrincipal(ctx context.Context, p tool.Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// End is until when it is known who a caller is.
type End struct {
	// At is the moment; zero: there is none.
	At time.Time
	// Renew asks again, then. Not ok, or nil: it is not who it was.
	Renew func(context.Context) (_ End, ok bool)
}

// WithEnd returns a context whose HTTP requests are made by somebody who is known
// until then. A call that it has begun runs on, a listen stream ends.
func WithEnd(ctx context.Context, e End) context.Context {
	if e.At.IsZero() {
		return ctx
	}
	return context.WithValue(ctx, endKey{}, e)
}

// await returns when it has come, or ctx has ended.
func (e End) await(ctx context.Context) {
	for !e.At.IsZero() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(e.At)):
		}
		if e.Renew == nil {
			return
		}
		var ok bool
		if e, ok = e.Renew(ctx); !ok {
			return
		}
	}
	<-ctx.Done()
}

func principalOf(ctx context.Context) tool.Principal {
	p, _ := ctx.Value(principalKey{}).(tool.Principal)
	return p
}

func withOrigin(ctx context.Context, o *origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// nowhere is the origin of a request that did not come through this face's own
// transports: nobody, and never gone.
var nowhere = &origin{gone: context.Background()}

func originOf(ctx context.Context) *origin {
	if o, ok := ctx.Value(originKey{}).(*origin); ok {
		return o
	}
	return nowhere
}

// envelopeOf returns the envelope of a request, an empty one if it has none.
func (o *origin) envelopeOf(extra *mcpsdk.RequestExtra) *envelope {
	if o.envelope != nil {
		return o.envelope
	}
	if extra != nil && extra.TokenInfo != nil {
		if e, ok := extra.TokenInfo.Extra[envelopeKey].(*envelope); ok {
			return e
		}
	}
	return &envelope{}
}
