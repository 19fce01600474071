// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/cache"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// answered gives what an equal call was answered or is about to be, or sends the call
// and keeps its answer. Every gate has judged it before.
func (x *Executor) answered(ctx context.Context, c *tool.Case, p *Policy, t cache.Terms, entry registry.Entry, row *tally) (tool.Outcome, *tool.Error) {
	key := x.Answers.Key(c, t)
	if r, _, ok := x.Answers.Find(key, t.TTL); ok {
		return x.repeat(ctx, c, p, entry.Offer, r, row)
	}
	if c.Events != nil { // what it hears on the way is its own
		return x.fresh(ctx, ctx, c, p, key, nil, entry, row)
	}
	f, lead := x.Answers.Board(ctx, key)
	if lead {
		return x.fresh(ctx, f.Context(), c, p, key, f, entry, row)
	}
	r, err, shared := f.Wait(ctx)
	switch {
	case !shared: // once more, and on its own: the others wait for nobody in a row
		return x.fresh(ctx, ctx, c, p, key, nil, entry, row)
	case err != nil:
		row.Gate = gateCache
		return nil, err
	default:
		return x.repeat(ctx, c, p, entry.Offer, r, row)
	}
}

// repeat gives an answer once more, through the filters as they are now.
func (x *Executor) repeat(ctx context.Context, c *tool.Case, p *Policy, offer *registry.Offer, r *tool.Result, row *tally) (tool.Outcome, *tool.Error) {
	row.Gate = gateCache
	if err := x.filter(ctx, c, p, offer, r); err != nil {
		return nil, err
	}
	r.Cached = true
	return r, nil
}

// fresh sends the call, which ends with sending, and lands f, if not nil, with what
// comes. What the filters let through is kept.
func (x *Executor) fresh(
	ctx, sending context.Context, c *tool.Case, p *Policy, key cache.Key, f *cache.Flight, entry registry.Entry, row *tally,
) (tool.Outcome, *tool.Error) {
	began, landed := time.Now(), f == nil
	land := func(r *tool.Result, err *tool.Error) {
		if !landed {
			landed = true
			f.Land(r, err)
		}
	}
	defer land(nil, nil) // also if something panics
	out, err := x.dispatch(sending, c, p, nil, entry, row)
	if err != nil {
		if err.Sent {
			land(nil, err)
		}
		return nil, err
	}
	r, ok := out.(*tool.Result)
	if ok {
		x.Answers.Keep(key, r, began)
		land(r, nil)
	}
	land(nil, nil)
	out, err = x.deliver(ctx, c, p, nil, entry.Offer, out)
	if ok && err != nil {
		x.Answers.Drop(key)
	}
	return out, err
}

// explainAnswer says what would become of a call that every gate lets pass; ok is
// false for a tool whose answers are not kept.
func (x *Executor) explainAnswer(c *tool.Case, p *Policy) (reason string, ok bool) {
	if x.Answers == nil || p.Cache[c.Spec.Adapter][c.Spec.Declared].TTL <= 0 {
		return "", false
	}
	t, why := p.Cache.Of(c)
	if why != "" {
		return why, true
	}
	if _, age, found := x.Answers.Find(x.Answers.Key(c, t), t.TTL); found {
		return fmt.Sprintf("the answer of %v ago would be given", age.Round(time.Millisecond)), true
	}
	return fmt.Sprintf("no answer is kept; this one would be for %v", t.TTL), true
}
