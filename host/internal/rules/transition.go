// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"context"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Transition judges by other rules than before. An adapter that is still what
// the configuration before made of it, under the names of then, is judged by
// both, and the stricter verdict holds: a rule that went together with a prefix
// or an adapter must not leave the old tools to the defaults, not for the moment
// of a swap and not for as long as the new one does not start.
type Transition struct {
	Now *Rules
	// Before are rules under which an adapter that is behind may have started.
	Before []*Rules
	// Behind reports whether an adapter serves what is not wanted any more.
	Behind func(adapter string) bool
}

// Name returns "rules".
func (*Transition) Name() string { return "rules" }

// Judge is that of Now, or the strictest one.
func (t *Transition) Judge(ctx context.Context, c *tool.Case) (tool.Verdict, error) {
	v, err := t.Now.Judge(ctx, c)
	if err != nil || len(t.Before) == 0 || !t.Behind(c.Spec.Adapter) {
		return v, err
	}
	for _, before := range t.Before {
		old, err := before.Judge(ctx, c)
		if err != nil {
			return old, err
		}
		if stricter(old, v) {
			v = old
			v.Reason = "its adapter is still that of the configuration before: " + v.Reason
		}
	}
	return v, nil
}

func stricter(a, b tool.Verdict) bool {
	if b.Decision == tool.Refuse {
		return false
	}
	confirms := func(v tool.Verdict) bool { return v.Confirm != nil && *v.Confirm }
	return a.Decision == tool.Refuse || confirms(a) && !confirms(b)
}

// Hides says for the operator why a principal may not know of something, and by
// which line; empty if it may.
func (t *Transition) Hides(who tool.Principal, s *tool.Spec) (why string, line int) {
	why, line = t.Now.Hides(who, s)
	if why != "" || len(t.Before) == 0 || !t.Behind(s.Adapter) {
		return why, line
	}
	for _, before := range t.Before {
		if why, line = before.Hides(who, s); why != "" {
			return "its adapter is still that of the configuration before: " + why, line
		}
	}
	return "", 0
}

// Lacks are the scopes that a principal needs to know of something that is hidden
// from it; none: they would not help.
func (t *Transition) Lacks(who tool.Principal, s *tool.Spec) []string {
	if len(t.Before) > 0 && t.Behind(s.Adapter) {
		return nil
	}
	return t.Now.Lacks(who, s)
}

// Visible reports whether a principal may know of something that is offered: by
// all the rules that its calls would be judged by.
func (t *Transition) Visible(who tool.Principal, s *tool.Spec) bool {
	if !t.Now.Visible(who, s) {
		return false
	}
	if len(t.Before) == 0 {
		return true
	}
	why, _ := t.Hides(who, s)
	return why == ""
}
