// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"errors"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// maxListed approvals are listed at once, the newest.
const maxListed = 1000

// Counter is the API's part that needs no host: approvals lie in the store.
type Counter struct {
	Desk     *approval.Desk
	Operator tool.Principal
}

// Approvals lists approvals, newest first.
func (k Counter) Approvals(ctx context.Context, status string) ([]Approval, error) {
	out := []Approval{}
	for r, err := range k.Desk.Store.Approvals(ctx, approval.Query{Status: approval.Status(status), Newest: true}) {
		if err != nil {
			return nil, err
		}
		out = append(out, Shown(r))
		if len(out) == maxListed {
			break
		}
	}
	return out, nil
}

// Approval returns one approval.
func (k Counter) Approval(ctx context.Context, id string) (*Approval, error) {
	r, err := k.Desk.Store.Approval(ctx, id)
	if err != nil {
		return nil, notFound(id, err)
	}
	a := Shown(r)
	return &a, nil
}

// Decide decides an approval as the operator.
func (k Counter) Decide(ctx context.Context, id string, d Decision) (*Approval, error) {
	r, err := k.Desk.Decide(ctx, id, k.Operator, approval.Decision{
		Approve: d.Approve, Edited: d.Edited, Reason: d.Reason,
	})
	if err != nil {
		return nil, notFound(id, err)
	}
	a := Shown(r)
	return &a, nil
}

func notFound(id string, err error) error {
	if errors.Is(err, approval.ErrNone) {
		return &NotFoundError{"approval", id}
	}
	return err
}

// Shown is an approval as an operator sees it.
func Shown(r *approval.Record) Approval {
	a := Approval{
		ID: r.ID, Status: string(r.Status), Mode: string(r.Mode), Tool: r.Tool, Adapter: r.Adapter, Effects: r.Effects,
		Principal: r.Principal, Why: r.Why, Run: r.Run, Call: r.Call, Args: r.Args, Edited: r.Edited,
		Created: r.Created, Expires: r.Expires, DecidedBy: r.DecidedBy, Reason: r.Reason,
	}
	if !r.Decided.IsZero() {
		a.Decided = &r.Decided
	}
	return a
}

// Approvals lists approvals, newest first.
func (s *Service) Approvals(ctx context.Context, status string) ([]Approval, error) {
	return Counter{s.Desk, s.Operator}.Approvals(ctx, status)
}

// Approval returns one approval.
func (s *Service) Approval(ctx context.Context, id string) (*Approval, error) {
	return Counter{s.Desk, s.Operator}.Approval(ctx, id)
}

// Decide decides an approval as the operator.
func (s *Service) Decide(ctx context.Context, id string, d Decision) (*Approval, error) {
	return Counter{s.Desk, s.Operator}.Decide(ctx, id, d)
}
