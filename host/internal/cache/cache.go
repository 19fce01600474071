// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Default is how many bytes of answers are kept.
const Default = 64 << 20

// share of the bytes that one answer may take: a few large ones would throw out
// all others.
const share = 8

// Cache is safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	most    int64
	used    int64
	answers *simplelru.LRU[Key, *answer]
	flights map[Key]*Flight
	ages    map[string]uint64 // by adapter
}

type answer struct {
	result *tool.Result
	size   int64
	at     time.Time
}

// New returns a cache of so many bytes.
func New(bytes int64) *Cache {
	c := &Cache{most: bytes, flights: map[Key]*Flight{}, ages: map[string]uint64{}}
	c.answers, _ = simplelru.NewLRU(math.MaxInt, func(_ Key, a *answer) { c.used -= a.size }) // it fails for 0 only
	return c
}

// Resize changes how many bytes are kept.
func (c *Cache) Resize(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.most = bytes
	c.fit()
}

// Find returns a copy of the answer that is kept under a key, and how old it is.
// One that is older than ttl is not given, however long it was meant to be kept.
func (c *Cache) Find(k Key, ttl time.Duration) (r *tool.Result, age time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.answers.Get(k)
	if !ok {
		return nil, 0, false
	}
	if age = time.Since(a.at); age >= ttl {
		c.answers.Remove(k)
		return nil, 0, false
	}
	return copyOf(a.result), age, true
}

// Keep keeps an answer that was given at a time. One that is too large for the cache
// is not kept.
func (c *Cache) Keep(k Key, r *tool.Result, at time.Time) {
	a := &answer{result: copyOf(r), size: size(r) + int64(len(k.who)), at: at}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.size > c.most/share {
		return
	}
	c.answers.Remove(k)
	c.used += a.size
	c.answers.Add(k, a)
	c.fit()
}

// Drop throws out what is kept under a key.
func (c *Cache) Drop(k Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answers.Remove(k)
}

// fit throws out what was not asked for longest.
func (c *Cache) fit() {
	for c.used > c.most {
		c.answers.RemoveOldest()
	}
}

// Forget makes everything that an adapter has answered so far, and what it is about
// to answer, nobody's: its data has changed. What is kept of it is thrown out as it
// gets old.
func (c *Cache) Forget(adapter string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ages[adapter]++
}

// copyOf is a result that filters may change: they replace blocks and values, and
// never change what is in one.
func copyOf(r *tool.Result) *tool.Result {
	own := *r
	own.Content = slices.Clone(r.Content)
	own.Cost, own.Cached, own.Unrecorded = "", false, false // of the call that it was given to
	return &own
}

// overhead of an answer, and of a block, beside their bytes.
const (
	overhead      = 512
	blockOverhead = 128
)

// size of an answer in memory, about.
func size(r *tool.Result) int64 {
	n := overhead + len(r.Structured) + len(r.Meta) + len(r.Description)
	for _, block := range r.Content {
		n += blockOverhead
		switch b := block.(type) {
		case *tool.Text:
			n += len(b.Text) + len(b.Meta)
		case *tool.Blob:
			n += len(b.Data) + len(b.MIMEType) + len(b.Meta)
		case *tool.Link:
			n += len(b.URI) + len(b.Name) + len(b.Title) + len(b.Description) + len(b.MIMEType) + len(b.Meta)
			for _, i := range b.Icons {
				n += blockOverhead + len(i.Src)
			}
		case *tool.Embedded:
			n += len(b.URI) + len(b.MIMEType) + len(b.Text) + len(b.Blob) + len(b.Meta) + len(b.ContentMeta)
		}
	}
	return int64(n)
}
