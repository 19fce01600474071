// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"container/list"
	"sync"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// The same statements come again and again; longer ones are rarely the same.
const (
	cachedVerdicts = 256
	cachedBytes    = 4 << 10
)

// cache keeps the verdicts on allowed statements that were asked for last. A
// policy never changes in a guard's life, so no verdict gets old.
type cache struct {
	mu     sync.Mutex
	order  list.List // of cached, the last used in front
	byText map[string]*list.Element
}

type cached struct {
	text string
	*verdict
}

func (c *cache) get(text string) *engine.Verdict {
	if len(text) > cachedBytes {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byText[text]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	if v, ok := e.Value.(cached); ok {
		return v.copy()
	}
	return nil
}

func (c *cache) put(text string, v *verdict) {
	if len(text) > cachedBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byText == nil {
		c.byText = map[string]*list.Element{}
	}
	if c.byText[text] != nil {
		return
	}
	c.byText[text] = c.order.PushFront(cached{text, v})
	if c.order.Len() > cachedVerdicts {
		if last, ok := c.order.Remove(c.order.Back()).(cached); ok {
			delete(c.byText, last.text)
		}
	}
}
