// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

const (
	// approvalStatus is the status at this moment.
	approvalStatus = `CASE WHEN status IN ('pending', 'approved') AND expires <= ` + clock + `
		THEN 'expired' ELSE status END`
	// approvalColumns are read in the order of scanner.approval.
	approvalColumns = `id, mode, ` + approvalStatus + `, principal, run, call, tool, adapter, effects, spec, origin,
		why, created, expires, decided, decided_by, reason, args, edited,
		status = 'used' AND EXISTS (SELECT 1 FROM intents WHERE intents.call = approvals.call)`
	approvalByID   = "SELECT " + approvalColumns + " FROM approvals WHERE id = ?"
	approvalByCall = "SELECT " + approvalColumns + " FROM approvals WHERE principal = ? AND call = ?"

	insertApproval = `INSERT INTO approvals (id, mode, status, principal, run, call, tool, adapter, effects, spec, origin,
		why, created, expires, decided_by, reason, args)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '', ?)`
)

// approval binds the parameters of insertApproval.
func (b *binder) approval(r *approval.Record) {
	b.text(r.ID)
	b.text(string(r.Mode))
	b.text(string(r.Status))
	b.text(r.Principal)
	b.text(r.Run)
	b.text(r.Call)
	b.text(r.Tool)
	b.text(r.Adapter)
	b.text(string(r.Effects))
	b.digest(&r.Spec)
	b.digest(&r.Origin)
	b.text(r.Why)
	b.time(r.Created)
	b.time(r.Expires)
	b.blob(r.Args)
}

// approval reads approvalColumns.
func (s *scanner) approval() *approval.Record {
	return &approval.Record{
		ID:        s.text(),
		Mode:      approval.Mode(s.text()),
		Status:    approval.Status(s.text()),
		Principal: s.text(),
		Run:       s.text(),
		Call:      s.text(),
		Tool:      s.text(),
		Adapter:   s.text(),
		Effects:   tool.Effects(s.text()),
		Spec:      s.digest(),
		Origin:    s.digest(),
		Why:       s.text(),
		Created:   s.time(),
		Expires:   s.time(),
		Decided:   s.time(),
		DecidedBy: s.text(),
		Reason:    s.text(),
		Args:      s.blob(),
		Edited:    s.blob(),
		Running:   s.flag(),
	}
}

func statusError(r *approval.Record) error {
	return &approval.StatusError{ID: r.ID, Status: r.Status, Running: r.Running}
}
