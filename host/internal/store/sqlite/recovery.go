// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// recoveryBatch is how many intents are reported in one transaction.
const recoveryBatch = 64

// codeHostLost is the error_code of a call whose host has gone before it ended.
const codeHostLost = "host_lost"

// orphans are the intents whose host holds no lease.
const orphans = `SELECT ` + begunColumns + `, hosts.expires, hosts.ended
	FROM intents LEFT JOIN hosts USING (host)
	WHERE host <> ? AND (hosts.expires IS NULL OR hosts.ended IS NOT NULL OR hosts.expires <= ?)
	LIMIT ?`

// recover reports intents of lost hosts as unknown and returns how many. Whoever
// comes first has removed them from the sight of the others.
func (w *writer) recover() (int, error) {
	if !w.tx.begun {
		return 0, nil
	}
	var found []ledger.Row
	err := w.query(orphans,
		func(b *binder) {
			b.text(w.host)
			b.number(w.tx.now)
			b.number(recoveryBatch)
		},
		func(s *scanner) { found = append(found, w.scanOrphan(s)) })
	if err != nil {
		return 0, err
	}
	for i := range found {
		if err := w.reportLost(&found[i]); err != nil {
			return 0, err
		}
	}
	return len(found), nil
}

// scanOrphan makes the row of a call that nobody will end.
func (w *writer) scanOrphan(s *scanner) (r ledger.Row) {
	s.begun(&r)
	expires, ended := s.time(), s.time()
	r.Ended = time.UnixMicro(w.tx.now).UTC()
	r.Outcome, r.Kind, r.Code, r.Ran = ledger.Unknown, tool.OutcomeUnknown, codeHostLost, tool.RanUnknown
	switch {
	case !ended.IsZero():
		r.Detail = fmt.Sprintf("host %s, which had begun it, ended at %s", r.Host, ended.Format(time.RFC3339))
	case !expires.IsZero():
		r.Detail = fmt.Sprintf("host %s, which had begun it, was last heard of before its lease ran out at %s",
			r.Host, expires.Format(time.RFC3339))
	default:
		r.Detail = fmt.Sprintf("host %s, which had begun it, is not known any more", r.Host)
	}
	return r
}

func (w *writer) reportLost(r *ledger.Row) error {
	lost := r.Host
	if err := w.appendRow(r); err != nil {
		return err
	}
	w.at("loss reported")
	err := w.exec("INSERT OR REPLACE INTO lost (call, started, host, at) VALUES (?, ?, ?, ?)", func(b *binder) {
		identity(r)(b)
		b.text(lost)
		b.number(w.tx.now)
	})
	if err != nil {
		return err
	}
	if err := w.exec("DELETE FROM intents WHERE call = ? AND started = ?", identity(r)); err != nil {
		return err
	}
	w.log.LogAttrs(context.Background(), slog.LevelWarn, "a call was lost with its host; whether it ran is unknown",
		slog.String("call", r.Call), slog.String("tool", r.Tool), slog.String("lost_host", lost))
	return nil
}
