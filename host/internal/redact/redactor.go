// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Mark stands where a secret was.
const Mark = "[redacted]"

// MinSecret is the shortest secret that is looked for, in bytes: shorter ones
// occur by chance.
const MinSecret = 12

// Redactor knows the secrets. It is safe for concurrent use; what is being
// redacted meanwhile sees the old secrets or the new ones. The zero Redactor
// knows none, and costs nothing.
type Redactor struct {
	known atomic.Pointer[known]

	mu   sync.Mutex // of changes
	host []string
	own  map[string][]string
}

// known is immutable. A matcher is nil if there is no secret.
type known struct {
	host     *matcher
	adapters map[string]*matcher // their own and the host's
}

// Set replaces the secrets of an adapter; none forgets it. While two processes
// of an adapter run side by side, it takes the secrets of both.
func (r *Redactor) Set(adapter string, secrets []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.own == nil {
		r.own = map[string][]string{}
	}
	next := &known{adapters: map[string]*matcher{}}
	if old := r.known.Load(); old != nil {
		next.host, next.adapters = old.host, maps.Clone(old.adapters)
	}
	if len(secrets) == 0 {
		delete(r.own, adapter)
		delete(next.adapters, adapter)
	} else {
		r.own[adapter] = slices.Clone(secrets)
		next.adapters[adapter] = newMatcher(slices.Concat(secrets, r.host))
	}
	r.known.Store(next)
}

// SetHost replaces the secrets of the host, which no adapter may say either.
func (r *Redactor) SetHost(secrets []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.host = slices.Clone(secrets)
	next := &known{host: newMatcher(r.host), adapters: map[string]*matcher{}}
	for adapter, own := range r.own {
		next.adapters[adapter] = newMatcher(slices.Concat(own, r.host))
	}
	r.known.Store(next)
}

// matcher returns nil if there is nothing to look for.
func (r *Redactor) matcher(adapter string) *matcher {
	k := r.known.Load()
	if k == nil {
		return nil
	}
	if m, ok := k.adapters[adapter]; ok {
		return m
	}
	return k.host
}

// Text returns s without the secrets of the adapter and the host. What is not
// UTF-8 stays so, except around a secret that is not.
func (r *Redactor) Text(adapter, s string) string { return r.matcher(adapter).text(s) }

// JSON returns one JSON value without them. Strings and names are looked at as
// what they say, however they are escaped. A number in which a secret is found
// becomes the string Mark: half a number would be another one, and a type that
// surprises is better than a secret. Valid JSON stays valid; names that become
// equal are numbered, so that none is lost. Raw is returned if nothing was found,
// and never changed.
func (r *Redactor) JSON(adapter string, raw []byte) []byte { return r.matcher(adapter).json(raw) }

// text of a nil matcher returns s.
func (m *matcher) text(s string) string {
	spans := find(m, s)
	if len(spans) == 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	end := 0
	for _, sp := range spans {
		b.WriteString(s[end:sp.from])
		b.WriteString(Mark)
		end = sp.to
	}
	b.WriteString(s[end:])
	return b.String()
}

// bytes is text of what may be no text.
func (m *matcher) bytes(p []byte) []byte {
	spans := find(m, p)
	if len(spans) == 0 {
		return p
	}
	out := make([]byte, 0, len(p))
	end := 0
	for _, sp := range spans {
		out = append(append(out, p[end:sp.from]...), Mark...)
		end = sp.to
	}
	return append(out, p[end:]...)
}
