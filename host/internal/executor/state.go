// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// ErrInvalidState is a state that this host did not give to this caller for
// this call, or whose time is over. Clients see no more than that.
var ErrInvalidState = errors.New("invalid request state")

// maxState is the longest sealed state, in bytes of text: what a client brings
// back has to fit into a request.
const maxState = 64 << 10

// purpose of sealed states.
const purpose = "call"

// state is what travels through the client between two rounds of a call,
// sealed. It is bound to everything that the rounds have in common.
type state struct {
	Principal string      `json:"p"`
	Tool      string      `json:"t"`
	Call      string      `json:"c"`
	Run       string      `json:"r"`
	Args      tool.Digest `json:"a"` // as the client sent them
	Spec      tool.Digest `json:"s"`
	Origin    tool.Digest `json:"o"`
	// Approval that the round is about (a form) or that was spent (a
	// question); empty: none was needed.
	Approval string `json:"ap,omitempty"`
	// Round names this state, so that it is used once; empty for a form, whose
	// approval is.
	Round string `json:"n,omitempty"`
	// RunKey and CallKey are those by which the client comes back without this
	// state; only of a link.
	RunKey  string `json:"kr,omitempty"`
	CallKey string `json:"kc,omitempty"`
	// Count of questions so far.
	Count int `json:"i,omitempty"`
	// State is the adapter's own.
	State []byte `json:"x,omitempty"`
	// Until is when it is no good any more, in seconds since 1970.
	Until int64 `json:"u"`
}

func (s *state) until() time.Time { return time.Unix(s.Until, 0) }

// newState is a state of this case.
func newState(c *tool.Case) *state {
	return &state{
		Principal: c.Principal.String(), Tool: c.Spec.Name, Call: c.ID, Run: c.RunID,
		Args: c.Call.Args.Digest(), Spec: c.Spec.Digest, Origin: c.Origin, Approval: c.Approval,
		Until: time.Now().Add(formTime).Unix(),
	}
}

// close seals a state.
func (x *Executor) close(s *state) ([]byte, error) {
	if x.Sealer == nil {
		return nil, errors.New("this host seals no states")
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("state of a call: %w", err)
	}
	closed := x.Sealer.Seal(purpose, raw, s.until())
	if len(closed) > maxState {
		return nil, fmt.Errorf("state of a call has %d bytes, at most %d are kept", len(closed), maxState)
	}
	return []byte(closed), nil
}

// byState opens the state that a call brings back.
func (x *Executor) byState(ctx context.Context, c *tool.Case) (*prior, *tool.Error) {
	invalid := &tool.Error{Kind: tool.ArgsInvalid, Code: "invalid_state", Text: ErrInvalidState.Error(), Err: ErrInvalidState}
	if x.Sealer == nil {
		return nil, invalid
	}
	raw, err := x.Sealer.Open(purpose, string(c.State), time.Now())
	var s state
	if err != nil || json.Unmarshal(raw, &s) != nil {
		return nil, invalid
	}
	if s.Principal != c.Principal.String() || s.Tool != c.Spec.Name || s.Args != c.Call.Args.Digest() {
		return nil, invalid
	}
	c.ID, c.RunID = s.Call, s.Run
	var r *approval.Record
	if s.Approval != "" {
		r, err = x.Approvals.OfCall(ctx, s.Principal, s.Call)
		if errors.Is(err, approval.ErrNone) || err == nil && r.ID != s.Approval {
			return nil, invalid
		}
		if err != nil {
			return nil, tool.Failed("journal", err)
		}
	}
	switch {
	case s.CallKey != "":
		return x.byLink(ctx, c, r, &s)
	case s.Round == "":
		return x.byForm(ctx, c, r)
	}
	p := &prior{record: r, round: &s}
	c.Sent = true
	if s.Spec != c.Spec.Digest || s.Origin != c.Origin {
		return p, stale(c)
	}
	if r == nil {
		return p, nil
	}
	if r.Status != approval.Used {
		return p, stale(c)
	}
	return p, adopt(c, r)
}
