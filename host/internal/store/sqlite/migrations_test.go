// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

// schemaOne makes a store of version 1.
func schemaOne(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x.db")
	sql, err := os.ReadFile(filepath.Join("testdata", "schema1.sql"))
	check(t, err)
	check(t, execute(path, string(sql)))
	return path
}

func testSigner() *ledger.Signer {
	return ledger.NewSigner(ed25519.NewKeyFromSeed([]byte("a key of thirty-two bytes, nearly")[:32]))
}

func verify(t *testing.T, s *Store) *ledger.Report {
	t.Helper()
	r, err := ledger.Verify(t.Context(), s, ledger.Trust{Keys: ledger.NewVerifier(testSigner().Public())})
	check(t, err)
	return r
}

func TestAStoreOfSchemaOneIsBroughtUpToDate(t *testing.T) {
	path := schemaOne(t)
	before := readAsOne(t, path)
	for n := range 2 {
		s, err := Open(t.Context(), path, Options{Signer: testSigner()})
		check(t, err)
		if s.ID() != "store_ABCDEFGHIJKLMNOPQRSTUVWXYZ" {
			t.Errorf("id %s", s.ID())
		}
		var rows []ledger.Row
		for r, err := range s.Rows(t.Context(), ledger.Query{}) {
			check(t, err)
			rows = append(rows, r)
		}
		if len(rows) != 4+n || rows[3].Call != "call_D" || rows[3].Outcome != ledger.Unknown || rows[3].Host == "host_B" {
			t.Fatalf("rows %+v", rows)
		}
		for i, r := range rows[:3] {
			if got := string(ledger.JSON(r)); got != before[i] {
				t.Errorf("row %d was\n%s\nand is\n%s", i+1, before[i], got)
			}
		}
		check(t, s.End(t.Context(), benchRecord(false)))
		if r := verify(t, s); !r.OK() || r.Signed != r.Rows || r.Rows != int64(5+n) {
			t.Errorf("report %+v", r)
		}
		check(t, s.Close(t.Context()))
	}
}

// readAsOne reads a store of schema 1, whose columns are those of today but some.
func readAsOne(t *testing.T, path string) (rows []string) {
	t.Helper()
	conn, err := sqlite3.Open(path)
	check(t, err)
	columns := strings.NewReplacer("asked", "NULL", "approval", "NULL", "decided_by", "NULL", "late", "0").Replace(rowColumns)
	check(t, each(conn, "SELECT seq, "+columns+" FROM ledger ORDER BY seq", nil, func(s *scanner) {
		rows = append(rows, string(ledger.JSON(s.row())))
	}))
	check(t, conn.Close())
	return rows
}

func TestSeveralHostsMigrateOneStoreAtOnce(t *testing.T) {
	path := schemaOne(t)
	var wg sync.WaitGroup
	stores := make([]*Store, 6)
	errs := make([]error, len(stores))
	for i := range stores {
		wg.Go(func() { stores[i], errs[i] = Open(t.Context(), path, Options{Signer: testSigner()}) })
	}
	wg.Wait()
	check(t, errors.Join(errs...))
	for _, s := range stores {
		if n, err := s.Newest(t.Context()); n != 4 || err != nil {
			t.Errorf("%d rows, %v", n, err)
		}
		if r := verify(t, s); !r.OK() {
			t.Errorf("report %+v", r)
		}
	}
	for _, s := range stores {
		check(t, s.Close(t.Context()))
	}
}

func TestAReaderLeavesAnOlderSchemaToAHost(t *testing.T) {
	if _, err := OpenReader(t.Context(), schemaOne(t)); err == nil || !strings.Contains(err.Error(), "older") {
		t.Errorf("got %v", err)
	}
}
