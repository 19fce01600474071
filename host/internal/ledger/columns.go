// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// columnWriter writes a column of a row under its name, in a form of its own.
type columnWriter interface {
	number(name string, n int64)
	text(name, s string)
	time(name string, t time.Time)
	digest(name string, d tool.Digest)
	flag(name string, set bool)
}

// writeColumns writes every column of the ledger, in the order in which readers
// see them. The chain's order, which hashes hold, is its own: see appendRow.
func writeColumns(w columnWriter, row *Row) {
	w.number("seq", row.Seq)
	w.text("host", row.Host)
	w.text("call", row.Call)
	w.text("run", row.Run)
	w.number("attempt", int64(row.Attempt))
	w.time("started", row.Started)
	w.time("ended", row.Ended)
	w.text("principal", row.Principal)
	w.text("op", string(row.Op))
	w.text("tool", row.Tool)
	w.text("adapter", row.Adapter)
	w.text("effects", string(row.Effects))
	w.digest("spec", row.Spec)
	w.digest("args", row.Args)
	w.digest("asked", row.Asked)
	w.text("approval", row.Approval)
	w.text("decided_by", row.DecidedBy)
	w.flag("late", row.Late)
	w.text("outcome", string(row.Outcome))
	w.text("error_kind", string(row.Kind))
	w.text("error_code", row.Code)
	w.text("detail", row.Detail)
	w.text("ran", string(row.Ran))
	w.text("gate", row.Gate)
	w.number("result_bytes", row.ResultBytes)
	w.text("cost", row.Cost)
	w.text("client", row.Client)
	w.text("protocol", row.Protocol)
}
