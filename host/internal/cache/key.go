// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Terms say how answers of one tool are kept.
type Terms struct {
	// TTL is how long; 0: they are not.
	TTL time.Duration
	// Shared: one principal may get what another one's call was answered.
	Shared bool
}

// Policy has the terms of tools by adapter and declared name. It is immutable.
type Policy map[string]map[string]Terms

// Of returns the terms of the tool that a case is about, and why its answers are
// not kept, or nothing. What changes something is never answered without having
// done it, and what somebody has approved is done because of that.
func (p Policy) Of(c *tool.Case) (t Terms, why string) {
	if c.Op != tool.OpTool {
		return Terms{}, "answers of tools only are kept"
	}
	switch t = p[c.Spec.Adapter][c.Spec.Declared]; {
	case t.TTL <= 0:
		return Terms{}, "answers of this tool are not kept"
	case c.Spec.Effects.Effective() != tool.ReadOnly:
		return Terms{}, "its effects are " + string(c.Spec.Effects.Effective()) + ", and only answers of read_only tools are kept"
	case c.Approval != "" || c.Confirm:
		return Terms{}, "a call that somebody decides about gets an answer of its own"
	case c.Sent || len(c.State) > 0 || len(c.Answers) > 0:
		return Terms{}, "this round brings back an answer to a question"
	default:
		return t, ""
	}
}

// Key is what calls have in common that may get the same answer.
type Key struct {
	spec, origin, args tool.Digest
	// who is the caller with all that its token says, empty if answers are shared.
	who string
	// age of the adapter's answers; see Forget.
	age uint64
}

// Key returns the key of a case.
func (c *Cache) Key(of *tool.Case, t Terms) Key {
	k := Key{spec: of.Spec.Digest, origin: of.Origin, args: of.Args.Digest()}
	if !t.Shared {
		k.who = of.Principal.Standing()
	}
	c.mu.Lock()
	k.age = c.ages[of.Spec.Adapter]
	c.mu.Unlock()
	return k
}
