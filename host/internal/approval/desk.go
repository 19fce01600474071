// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode"

	"github.com/toolwharf/toolwharf/host/internal/rules"
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
	// ErrNotApprover is that approval.approvers does not let an operator decide.
	ErrNotApprover = errors.New("approval.approvers does not let this operator decide about this call")
)

// FaultError says what is wrong with a decision. Nothing was decided.
type FaultError struct{ Text string }

// Error says it.
func (e *FaultError) Error() string { return e.Text }

func faulty(format string, args ...any) error { return &FaultError{fmt.Sprintf(format, args...)} }

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
	// Approvers, if not nil, must be true of a call for an operator to decide about
	// it: as if the operator called it.
	Approvers *rules.When
	// Fits says, as an error, what a tool has against arguments; nil: no host
	// runs that could say.
	Fits func(name string, args tool.JSON) *tool.Error
}

// Decide decides a pending approval as an operator. The error is ErrNone, an
// *StatusError, ErrNotOperator, ErrSelf, ErrNotApprover or a *FaultError; then, and
// after any other error, nothing was decided.
//
// Edited arguments are validated as those of a call, here if Fits is there and
// again when they run, with the tool and the rules of then.
func (k *Desk) Decide(ctx context.Context, id string, by tool.Principal, d Decision) (*Record, error) {
	if !by.Operates() {
		return nil, ErrNotOperator
	}
	if len(d.Reason) > MaxReason || strings.ContainsFunc(d.Reason, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return nil, faulty("a reason is one line of at most %d bytes", MaxReason)
	}
	args, err := editedArgs(d)
	if err != nil {
		return nil, err
	}
	r, err := k.Store.Approval(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.Mode == Form {
		return nil, faulty("approval %s is asked of the calling client's user", id)
	}
	if k.Own(by, r) {
		return nil, ErrSelf
	}
	if r.Status != Pending { // whatever else is wrong
		return nil, &StatusError{ID: r.ID, Status: r.Status, Running: r.Running}
	}
	if d.Edited != nil {
		if asked, err := tool.ParseArgs(r.Args); err == nil && asked.Digest() == args.Digest() {
			d.Edited = nil // another spelling of the same
		} else if err := k.fits(r.Tool, args); err != nil {
			return nil, err
		}
	}
	if err := k.lets(by, r, d); err != nil {
		return nil, err
	}
	d.By = by.String()
	return k.Store.Decide(ctx, id, d)
}

// lets says, as an error, that an operator may not decide about a call. A condition
// that cannot be judged lets nobody.
func (k *Desk) lets(by tool.Principal, r *Record, d Decision) error {
	if k.Approvers == nil {
		return nil
	}
	raw := r.Args
	if d.Edited != nil {
		raw = d.Edited
	}
	args, err := tool.ParseArgs(raw)
	if err != nil {
		return faulty("the arguments of approval %s cannot be read", r.ID)
	}
	holds, err := k.Approvers.Holds(&tool.Case{
		Call: &tool.Call{Op: tool.OpTool, Name: r.Tool, Args: args, Principal: by}, RunID: r.Run, Args: args, Started: time.Now(),
		Spec: &tool.Spec{Name: r.Tool, Adapter: r.Adapter, Effects: r.Effects},
	})
	if err != nil {
		return fmt.Errorf("%w: it cannot be judged: %w", ErrNotApprover, err)
	}
	if !holds {
		return ErrNotApprover
	}
	return nil
}

// Own reports whether somebody may not decide about a call because it asked for
// it, with whatever client. Who holds the operator token is never the asker of a model's call: a call of
// its own was typed by the same person who decides.
func (k *Desk) Own(by tool.Principal, r *Record) bool {
	return by.Kind != tool.Operator && !k.Self && (by.String() == r.Principal || samePerson(by, r.Principal))
}

// samePerson reports whether an issuer says that somebody is who asked: the same
// subject, which clients of both may have a token of. Subjects of fixed tokens are
// nobody's word.
func samePerson(by tool.Principal, asked string) bool {
	if by.Kind != tool.Token || by.Issuer == "" || by.Subject == "" {
		return false
	}
	var parts []string // client id, issuer, subject
	if json.Unmarshal([]byte(asked), &parts) != nil || len(parts) != 3 {
		return false
	}
	return parts[2] == by.Subject && strings.TrimSuffix(parts[1], "/") == strings.TrimSuffix(by.Issuer, "/")
}

// editedArgs are the arguments that are to run in place of the asked ones, no value
// if those are.
func editedArgs(d Decision) (tool.JSON, error) {
	switch {
	case d.Edited == nil:
		return tool.JSON{}, nil
	case !d.Approve:
		return tool.JSON{}, faulty("a denial edits nothing")
	}
	args, err := tool.ParseArgs(d.Edited)
	if err != nil {
		return tool.JSON{}, faulty("edited %s", tool.AsError(err).Text)
	}
	return args, nil
}

func (k *Desk) fits(name string, args tool.JSON) error {
	if k.Fits == nil {
		return nil
	}
	if err := k.Fits(name, args); err != nil {
		return faulty("edited arguments: %s", err.Text)
	}
	return nil
}
