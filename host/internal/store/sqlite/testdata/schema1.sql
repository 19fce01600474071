-- A store as version 1 has left it, killed with a call open: three rows of two
-- hosts, two of them with everything in them. Schema 1 is not to be changed here.
CREATE TABLE meta (
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
) WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('id', 'store_ABCDEFGHIJKLMNOPQRSTUVWXYZ');

INSERT INTO ledger (seq, host, call, run, attempt, started, ended, principal, op, tool, adapter, effects, spec, args,
	outcome, error_kind, error_code, detail, ran, gate, result_bytes, cost, client, protocol) VALUES
	(1, 'host_A', 'call_A', 'run_A', 1, 1790000000000001, 1790000000000002, 'stdio/local/ann', 'tool', 'orders_query',
		'orders', 'read_only', x'0101010101010101010101010101010101010101010101010101010101010101',
		x'0202020202020202020202020202020202020202020202020202020202020202',
		'ok', NULL, NULL, NULL, NULL, NULL, 1234, '0.10', 'claude-code', '2026-07-28'),
	(2, 'host_B', 'call_B', 'run_A', 0, 1790000000000003, 1790000000000004, 'anonymous', 'tool', 'orders_delete',
		'orders', 'destructive', NULL, NULL,
		'refused', 'approval_denied', 'approval_required', 'no', 'no', 'approval', 0, NULL, NULL, NULL),
	(3, 'host_A', 'call_C', NULL, 1, -5, 0, '', 'tool', 'orders_query', NULL, NULL, NULL, NULL,
		'failed', 'tool_failed', NULL, NULL, 'unknown', NULL, 0, NULL, NULL, NULL);

INSERT INTO intents (call, host, run, attempt, started, principal, op, tool, adapter, effects) VALUES
	('call_D', 'host_B', 'run_B', 0, 1790000000000005, 'stdio/local/ann', 'tool', 'orders_delete', 'orders', 'destructive');

PRAGMA application_id = 1953982566;
PRAGMA user_version = 1;
