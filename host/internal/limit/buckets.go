// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// maxBuckets bounds the buckets of one kind. Whoever comes beyond them shares
	// one: to throw a bucket out that is not full would give its owner a new, full
	// one, and callers who can have many names could bring that about.
	maxBuckets = 10_000
	// sweepPause is between two looks for buckets that are full, and so are as
	// good as none.
	sweepPause = time.Second
)

// kind is what has a bucket.
type kind uint8

const (
	ofAdmission kind = iota
	ofPrincipal
	ofAdapter
	ofTool
	kinds
)

// Rates are the buckets of everybody and everything that has a rate. They
// outlive a configuration: a reload fills none. The zero Rates is ready, and safe
// for concurrent use.
type Rates struct {
	mu     sync.Mutex
	tables [kinds]table
}

// want is one call of one of the buckets.
type want struct {
	kind kind
	key  string
	rate Rate
}

// take takes one call out of each bucket, or out of none: then it returns the
// first that is empty, and when it will not be.
func (r *Rates) take(now time.Time, wants []want) (empty *want, after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if empty, after = r.look(now, wants); empty != nil {
		return empty, after
	}
	for i := range wants {
		w := &wants[i]
		r.tables[w.kind].bucket(now, w.key, w.rate).AllowN(now, 1)
	}
	return nil, 0
}

// peek says what take would say, and takes nothing.
func (r *Rates) peek(now time.Time, wants []want) (empty *want, after time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.look(now, wants)
}

func (r *Rates) look(now time.Time, wants []want) (*want, time.Duration) {
	for i := range wants {
		w := &wants[i]
		b := r.tables[w.kind].bucket(now, w.key, w.rate)
		if tokens := b.TokensAt(now); tokens < 1 {
			return w, time.Duration((1 - tokens) / float64(b.Limit()) * float64(time.Second))
		}
	}
	return nil, 0
}

// table holds the buckets of one kind.
type table struct {
	of    map[string]*rate.Limiter
	rest  *rate.Limiter // of those for whom there is no room
	swept time.Time
}

// bucket returns the bucket of a key, full if it had none.
func (t *table) bucket(now time.Time, key string, r Rate) *rate.Limiter {
	b := t.of[key]
	switch {
	case b != nil:
	case t.room(now):
		b = rate.NewLimiter(r.limit(), r.N)
		if t.of == nil {
			t.of = map[string]*rate.Limiter{}
		}
		t.of[key] = b
	case t.rest == nil:
		b = rate.NewLimiter(r.limit(), r.N)
		t.rest = b
	default:
		b = t.rest
	}
	if b.Limit() != r.limit() || b.Burst() != r.N { // another configuration holds
		b.SetLimitAt(now, r.limit())
		b.SetBurstAt(now, r.N)
	}
	return b
}

// room makes room for one more bucket, by those that are full.
func (t *table) room(now time.Time) bool {
	if len(t.of) < maxBuckets {
		return true
	}
	if now.Sub(t.swept) < sweepPause {
		return false
	}
	t.swept = now
	for key, b := range t.of {
		if b.TokensAt(now) >= float64(b.Burst()) {
			delete(t.of, key)
		}
	}
	return len(t.of) < maxBuckets
}
