// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store"
)

func TestFilesAreTheUsersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("access lists are the directory's affair")
	}
	path := filepath.Join(t.TempDir(), "x.db")
	open(t, path, Options{})
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode(); mode != 0o600 {
			t.Errorf("%s is %v", filepath.Base(path+suffix), mode)
		}
	}
}

func TestTheLastToCloseLeavesOneFile(t *testing.T) {
	for name, last := range map[string]string{"writer": "writer", "reader": "reader"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			s, err := Open(t.Context(), path, Options{})
			check(t, err)
			check(t, s.End(t.Context(), benchRecord(false)))
			r, err := OpenReader(t.Context(), path)
			check(t, err)
			if last == "writer" {
				check(t, r.Close())
				check(t, s.Close(t.Context()))
			} else {
				check(t, s.Close(t.Context()))
				if n, err := r.Newest(t.Context()); n != 1 || err != nil {
					t.Errorf("the reader sees %d, %v", n, err)
				}
				check(t, r.Close())
				check(t, r.Close())
			}
			entries, err := os.ReadDir(filepath.Dir(path))
			check(t, err)
			if len(entries) != 1 {
				t.Errorf("there are %v", entries)
			}
		})
	}
}

func TestAMissingDirectoryIsSaid(t *testing.T) {
	_, err := Open(t.Context(), filepath.Join(t.TempDir(), "no", "x.db"), Options{})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "x.db") {
		t.Errorf("got %v", err)
	}
}

func TestAReaderMakesNoFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenReader(t.Context(), filepath.Join(dir, "x.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("there are %v, %v", entries, err)
	}
	empty := filepath.Join(dir, "empty.db")
	check(t, os.WriteFile(empty, nil, 0o600))
	if _, err := OpenReader(t.Context(), empty); !errors.Is(err, store.ErrForeign) {
		t.Errorf("got %v", err)
	}
}

func TestAReaderCannotWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	open(t, path, Options{})
	r, err := OpenReader(t.Context(), path)
	check(t, err)
	defer func() { check(t, r.Close()) }()
	if err := r.conn.Exec("DELETE FROM ledger"); !errors.Is(err, sqlite3.READONLY) {
		t.Errorf("got %v", err)
	}
}

func TestForeignFilesAreRefusedAndLeftAlone(t *testing.T) {
	database := func(sql string) func(string) error {
		return func(path string) error { return execute(path, sql) }
	}
	for name, write := range map[string]func(path string) error{
		"text": func(path string) error {
			return os.WriteFile(path, bytes.Repeat([]byte("hello world\n"), 1000), 0o600)
		},
		"another's database":               database("CREATE TABLE ledger (seq INTEGER)"),
		"another's database with a number": database("PRAGMA application_id = 77; CREATE TABLE t (x)"),
		"another's versions":               database("PRAGMA user_version = 1; CREATE TABLE t (x)"),
		"ours without a version":           database("PRAGMA application_id = 1953982566; CREATE TABLE t (x)"),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			check(t, write(path))
			before, err := os.ReadFile(path)
			check(t, err)
			if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, store.ErrForeign) {
				t.Errorf("Open: %v", err)
			}
			if _, err := OpenReader(t.Context(), path); !errors.Is(err, store.ErrForeign) {
				t.Errorf("OpenReader: %v", err)
			}
			after, err := os.ReadFile(path)
			check(t, err)
			if !bytes.Equal(before, after) {
				t.Error("it was changed")
			}
		})
	}
}

func TestANewerSchemaIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s, err := Open(t.Context(), path, Options{})
	check(t, err)
	check(t, s.Close(t.Context()))
	check(t, execute(path, "PRAGMA user_version = 1000"))
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, store.ErrNewer) {
		t.Errorf("Open: %v", err)
	}
	if _, err := OpenReader(t.Context(), path); !errors.Is(err, store.ErrNewer) {
		t.Errorf("OpenReader: %v", err)
	}
}

func TestAFileOfAnotherJournalModeIsSetRight(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s, err := Open(t.Context(), path, Options{})
	check(t, err)
	check(t, s.Close(t.Context()))
	check(t, execute(path, "PRAGMA journal_mode = DELETE"))
	s = open(t, path, Options{})
	check(t, s.End(t.Context(), benchRecord(false)))
	mode, err := readText(s.writer.conn, "PRAGMA journal_mode")
	if mode != "wal" || err != nil {
		t.Errorf("%s, %v", mode, err)
	}
}

func TestOpeningEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	check(t, os.WriteFile(path, nil, 0o600))
	conn, err := sqlite3.Open(path)
	check(t, err)
	check(t, conn.Exec("BEGIN EXCLUSIVE"))
	defer func() { check(t, conn.Close()) }()
	ctx := &countdown{Context: t.Context(), left: 200}
	if _, err := Open(ctx, path, Options{}); !errors.Is(err, errCountdown) {
		t.Errorf("got %v", err)
	}
}

func TestColumnsAreNamedAsInJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s := open(t, path, Options{})
	columns := func(table string) (names []string) {
		stmt, _, err := s.writer.conn.Prepare("SELECT name FROM pragma_table_info(?)")
		check(t, err)
		check(t, stmt.BindText(1, table))
		for stmt.Step() {
			names = append(names, stmt.ColumnText(0))
		}
		check(t, stmt.Close())
		return names
	}
	dec := json.NewDecoder(bytes.NewReader(ledger.JSON(ledger.Row{})))
	var keys []string
	_, err := dec.Token()
	check(t, err)
	for dec.More() {
		key, err := dec.Token()
		check(t, err)
		keys = append(keys, key.(string))
		_, err = dec.Token()
		check(t, err)
	}
	rows := columns("ledger")
	// What was added later comes last in the table, the chain in no row.
	inTable := slices.DeleteFunc(slices.Sorted(slices.Values(rows)), func(c string) bool {
		return c == "chain_n" || c == "hash"
	})
	if diff := cmp.Diff(slices.Sorted(slices.Values(keys)), inTable); diff != "" {
		t.Error("-json +ledger\n" + diff)
	}
	for _, c := range columns("intents") {
		if !slices.Contains(rows, c) {
			t.Errorf("intents has %s", c)
		}
	}
}

func TestARunIsReadByItsIndex(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "x.db"), Options{})
	sel := newSelection(ledger.Query{Run: "r", Tool: "t"})
	var plan strings.Builder
	stmt, _, err := s.writer.conn.Prepare("EXPLAIN QUERY PLAN SELECT seq, " + rowColumns +
		" FROM ledger WHERE seq > ? AND seq <= ?" + sel.where + " ORDER BY seq ASC LIMIT ?")
	check(t, err)
	for stmt.Step() {
		plan.WriteString(stmt.ColumnText(3) + "\n")
	}
	check(t, stmt.Close())
	if p := plan.String(); !strings.Contains(p, "ledger_run") || strings.Contains(p, "TEMP B-TREE") {
		t.Error(p)
	}
}

func open(t *testing.T, path string, opts Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, opts)
	check(t, err)
	t.Cleanup(func() { check(t, s.Close(context.Background())) })
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// countdown is a context that ends when it has been asked often enough.
type countdown struct {
	context.Context //nolint:containedctx // it is one
	left            int
}

var errCountdown = errors.New("counted down")

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return errCountdown
	}
	return nil
}
