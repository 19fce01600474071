// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"maps"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

// migrations lead from an empty file to the schema of today, one a version
// (PRAGMA user_version). They only go forward; one that has been released is
// never changed.
//
// The ledger's AUTOINCREMENT costs a microsecond and never gives a number twice,
// so rows that somebody has cut off at the end leave a gap. The index on run
// costs next to nothing, since rows of a run arrive together. One on call, whose
// ids are random, would cost four times what the row does; queries by call scan.
var migrations = [...]string{
	`CREATE TABLE meta (
		key   TEXT PRIMARY KEY,
		value TEXT NOT NULL
	) WITHOUT ROWID;

	CREATE TABLE ledger (
		seq          INTEGER PRIMARY KEY AUTOINCREMENT,
		host         TEXT NOT NULL,
		call         TEXT NOT NULL,
		run          TEXT,
		attempt      INTEGER NOT NULL,
		started      INTEGER NOT NULL, -- UTC, microseconds since 1970
		ended        INTEGER NOT NULL, -- likewise
		principal    TEXT NOT NULL,
		op           TEXT NOT NULL,
		tool         TEXT NOT NULL,
		adapter      TEXT,
		effects      TEXT,
		spec         BLOB,             -- SHA-256
		args         BLOB,             -- likewise
		outcome      TEXT NOT NULL,
		error_kind   TEXT,
		error_code   TEXT,
		detail       TEXT,
		ran          TEXT,
		gate         TEXT,
		result_bytes INTEGER NOT NULL,
		cost         TEXT,             -- exact decimal
		client       TEXT,
		protocol     TEXT
	);
	CREATE INDEX ledger_run ON ledger (run) WHERE run IS NOT NULL;

	CREATE TABLE intents (
		call      TEXT PRIMARY KEY,
		host      TEXT NOT NULL,
		run       TEXT,
		attempt   INTEGER NOT NULL,
		started   INTEGER NOT NULL,
		principal TEXT NOT NULL,
		op        TEXT NOT NULL,
		tool      TEXT NOT NULL,
		adapter   TEXT,
		effects   TEXT,
		spec      BLOB,
		args      BLOB,
		client    TEXT,
		protocol  TEXT
	) WITHOUT ROWID;`,
	// Rows of schema 1 are linked by linkRows. The arguments of approvals come last,
	// so that whoever looks for a status need not read past them. Expired is no
	// status here: the clock says it.
	`ALTER TABLE ledger ADD COLUMN asked      BLOB;
	ALTER TABLE ledger ADD COLUMN approval   TEXT;
	ALTER TABLE ledger ADD COLUMN decided_by TEXT;
	ALTER TABLE ledger ADD COLUMN late       INTEGER NOT NULL DEFAULT 0;
	ALTER TABLE ledger ADD COLUMN chain_n    INTEGER;
	ALTER TABLE ledger ADD COLUMN hash       BLOB;

	ALTER TABLE intents ADD COLUMN asked      BLOB;
	ALTER TABLE intents ADD COLUMN approval   TEXT;
	ALTER TABLE intents ADD COLUMN decided_by TEXT;

	CREATE TABLE lost ( -- intents that were reported as unknown
		call    TEXT NOT NULL,
		started INTEGER NOT NULL,
		host    TEXT NOT NULL,
		at      INTEGER NOT NULL,
		PRIMARY KEY (call, started)
	) WITHOUT ROWID;

	CREATE TABLE spooled ( -- rows that came from a spool
		id TEXT PRIMARY KEY,
		at INTEGER NOT NULL
	) WITHOUT ROWID;

	CREATE TABLE approvals (
		id         TEXT NOT NULL UNIQUE,
		mode       TEXT NOT NULL,
		status     TEXT NOT NULL,
		principal  TEXT NOT NULL,
		run        TEXT NOT NULL,
		call       TEXT NOT NULL,
		tool       TEXT NOT NULL,
		adapter    TEXT NOT NULL,
		effects    TEXT NOT NULL,
		spec       BLOB,
		origin     BLOB,
		why        TEXT NOT NULL,
		created    INTEGER NOT NULL,
		expires    INTEGER NOT NULL,
		decided    INTEGER,
		decided_by TEXT NOT NULL,
		reason     TEXT NOT NULL,
		args       BLOB,
		edited     BLOB,
		UNIQUE (principal, call)
	);
	CREATE INDEX approvals_pending ON approvals (mode, expires) WHERE status = 'pending';
	CREATE INDEX approvals_asked ON approvals (principal, mode, expires) WHERE status = 'pending';
	CREATE INDEX approvals_args ON approvals (expires) WHERE args IS NOT NULL;

	CREATE TABLE rounds (
		round TEXT PRIMARY KEY,
		until INTEGER -- NULL: for ever
	) WITHOUT ROWID;
	CREATE INDEX rounds_until ON rounds (until);

	CREATE TABLE hosts (
		host    TEXT PRIMARY KEY,
		opened  INTEGER NOT NULL,
		expires INTEGER NOT NULL, -- the lease
		ended   INTEGER           -- NULL while it lives
	) WITHOUT ROWID;

	CREATE TABLE heads (
		host      TEXT PRIMARY KEY,
		n         INTEGER NOT NULL,
		hash      BLOB NOT NULL,
		seq       INTEGER NOT NULL, -- of the row
		time      INTEGER NOT NULL,
		key       TEXT,
		signature BLOB
	) WITHOUT ROWID;
	CREATE INDEX heads_seq ON heads (seq);

	CREATE TABLE checkpoints (
		id        INTEGER PRIMARY KEY AUTOINCREMENT,
		host      TEXT NOT NULL,
		n         INTEGER NOT NULL,
		hash      BLOB,
		time      INTEGER NOT NULL,
		key       TEXT,
		signature BLOB,
		anchors   BLOB -- JSON
	);

	CREATE TABLE cuts (
		seq       INTEGER PRIMARY KEY,
		heads     BLOB NOT NULL, -- JSON
		anchors   BLOB NOT NULL, -- likewise
		by        TEXT NOT NULL,
		time      INTEGER NOT NULL,
		key       TEXT,
		signature BLOB
	);`,
	// What runs have used of what they may use; see limit.Charge.
	`CREATE TABLE counts (
		run  TEXT NOT NULL,
		what TEXT NOT NULL,
		used INTEGER NOT NULL,
		at   INTEGER NOT NULL, -- when that was last changed
		PRIMARY KEY (run, what)
	) WITHOUT ROWID;
	CREATE INDEX counts_at ON counts (at);`,
	// What receivers are still to be told; see approval.Notice. Whoever delivers one
	// puts off when it is due, and so has it for itself.
	`CREATE TABLE outbox (
		seq      INTEGER PRIMARY KEY,
		id       TEXT NOT NULL UNIQUE,
		receiver TEXT NOT NULL,
		event    TEXT NOT NULL,
		approval TEXT NOT NULL,
		status   TEXT NOT NULL,
		at       INTEGER NOT NULL,
		due      INTEGER NOT NULL,
		attempts INTEGER NOT NULL
	);
	CREATE INDEX outbox_due ON outbox (receiver, due);`,
}

// keyMigrated stands for the key of a head that is still to be signed.
const keyMigrated = ""

// linkRows puts the rows of schema 1 into chains, one for each host, as they are
// when it finds them.
func linkRows(conn *sqlite3.Conn) error {
	heads := map[string]*migratedHead{}
	sel := newSelection(ledger.Query{})
	newest, err := readNumber(conn, newestSeq)
	if err != nil {
		return err
	}
	var page []ledger.Row
	for sel.after < newest {
		if page, err = sel.page(conn, page[:0], newest); err != nil {
			return err
		}
		for i := range page {
			row := &page[i]
			h := heads[row.Host]
			if h == nil {
				h = new(migratedHead)
				heads[row.Host] = h
			}
			h.Head, h.seq = ledger.Link(h.Head, row), row.Seq
			err := each(conn, "UPDATE ledger SET chain_n = ?, hash = ? WHERE seq = ?", func(b *binder) {
				b.number(h.N)
				b.digest(&h.Hash)
				b.number(row.Seq)
			}, func(*scanner) {})
			if err != nil {
				return err
			}
		}
	}
	for _, host := range slices.Sorted(maps.Keys(heads)) {
		h := heads[host]
		err := each(conn, "INSERT INTO heads (host, n, hash, seq, time, key) VALUES (?, ?, ?, ?, "+clock+", ?)",
			func(b *binder) {
				b.text(host)
				b.number(h.N)
				b.digest(&h.Hash)
				b.number(h.seq)
				b.text(keyMigrated)
			}, func(*scanner) {})
		if err != nil {
			return err
		}
	}
	return nil
}

type migratedHead struct {
	ledger.Head

	seq int64
}
