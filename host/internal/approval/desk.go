// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// MaxReason is the longest reason for a decision, in bytes.
const MaxReason = 1024

// Errors of a desk.
var (
	// ErrNotOperator: whoever wants to decide may not.
	ErrNotOperator = errors.New("only an operator may decide approvals")
	// ErrSelf: the asker wants to decide its own call.
	ErrSelf = errors.New("whoever asked for a call may not approve it")
)

// Store is where a desk finds approvals. See executor.Approvals for what its
// methods promise.
type Store interface {
	Approval(ctx context.Context, id string) (*Record, error)
	Approvals(ctx context.Context, q Query) iter.Seq2[*Record, error]
	Decide(ctx context.Context, id string, d Decision) (*Record, error)
}

// Desk is where operators decide, in a host or without one.
type Desk struct {
	Store Store
	// Self: an asker may decide its own call.
	Self bool
}

// Decide decides a pending approval as an operator. The error is ErrNone, an
// *StatusError, ErrNotOperator, ErrSelf, or says what is wrong with the
// decision; then nothing was decided.
//
// That edited arguments fit the tool is judged when they run, with the rules of
// then; here they have to be arguments at all.
func (k *Desk) Decide(ctx context.Context, id string, by tool.Principal, d Decision) (*Record, error) {
	if by.Kind != tool.Operator && by.Kind != tool.Token {
		return nil, ErrNotOperator
	}
	if len(d.Reason) > MaxReason || strings.ContainsFunc(d.Reason, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return nil, fmt.Errorf("a reason is one line of at most %d bytes", MaxReason)
	}
	if d.Edited != nil {
		if !d.Approve {
			return nil, errors.New("a denial edits nothing")
		}
		if _, err := tool.ParseArgs(d.Edited); err != nil {
			return nil, fmt.Errorf("edited %w", tool.AsError(err))
		}
	}
	r, err := k.Store.Approval(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.Mode == Form {
		return nil, fmt.Errorf("approval %s is asked of the calling client's user", id)
	}
	// Who holds the operator token is never the asker of a model's call: a
	// call of its own was typed by the same person who decides.
	if by.Kind != tool.Operator && by.String() == r.Principal && !k.Self {
		return nil, ErrSelf
	}
	d.By = by.String()
	return k.Store.Decide(ctx, id, d)
}
