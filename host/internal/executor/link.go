// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// linkTime is how long a client that says that its user has opened the page is held
// for the decision, before it is asked again: clients come back at once.
const linkTime = 15 * time.Second

// link asks the client's user to open the page on which somebody decides (MCP
// 2026-07-28, client/elicitation, URL mode). The link grants nothing: whoever
// opens it has to be an operator. The client comes back with the state; with p, it
// can do so as if it had not been asked.
func (x *Executor) link(c *tool.Case, p *tool.Pending, round int) (tool.Outcome, *tool.Error) {
	s := newState(c)
	s.Approval, s.Count, s.RunKey, s.CallKey = p.Approval, round, p.Run, p.Call
	closed, err := x.close(s)
	if err != nil {
		return nil, tool.Failed("state", err)
	}
	return elicit(closed, map[string]any{
		"mode": modeURL, "url": p.URL,
		"message": fmt.Sprintf("%s needs approval (its effects are %s). Open the page to see it, and to decide if you may.",
			c.Spec.Name, c.Spec.Effects.Effective()),
	})
}

// linked is a call that has come back from a link.
type linked struct {
	*state

	// again: its client is asked once more while nobody has decided.
	again bool
}

// byLink goes on with the approval of a call whose client was sent to its page.
// That the user has agreed to open it decides nothing.
func (x *Executor) byLink(ctx context.Context, c *tool.Case, r *approval.Record, s *state) (*prior, *tool.Error) {
	if r == nil || r.Mode != approval.Deferred {
		return nil, &tool.Error{Kind: tool.ArgsInvalid, Code: "invalid_state", Text: ErrInvalidState.Error(), Err: ErrInvalidState}
	}
	var answer struct {
		Action string `json:"action"`
	}
	raw, answered := c.Answers[approveKey]
	opened := json.Unmarshal(raw, &answer) == nil && answer.Action == "accept"
	if opened && r.Status == approval.Pending {
		patience, cancel := context.WithTimeout(ctx, linkTime)
		defer cancel()
		_ = x.Approvals.Await(patience, r.ID) // what came of it, the next lines see
		if ctx.Err() != nil {
			return &prior{record: r}, tool.Interrupted(ctx, "waiting for approval")
		}
		fresh, err := x.Approvals.OfCall(ctx, s.Principal, s.Call)
		if err != nil {
			return &prior{record: r}, tool.Failed("journal", err)
		}
		r = fresh
	}
	p, failed := x.decided(c, r)
	// Who does not want to open it is told how to come back.
	p.link = &linked{s, (opened || !answered) && s.Count < maxRounds}
	return p, failed
}
