// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package spool_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store/spool"
	"github.com/toolwharf/toolwharf/host/internal/store/sqlite"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// accepting is a journal without a store.
type accepting struct{}

func (accepting) Begin(context.Context, executor.Intent) error { return nil }
func (accepting) End(context.Context, executor.Record) error   { return nil }

// fixture is a spool before a store that can be made to refuse.
type fixture struct {
	*spool.Journal

	dir, path string
	store     *sqlite.Store
	faulty    *faulty
	log       *buffer
}

func newFixture(t *testing.T, host string) *fixture {
	t.Helper()
	return open(t, host, t.TempDir(), filepath.Join(t.TempDir(), "x.db"))
}

// next is another host in the same place.
func (f *fixture) next(t *testing.T, host string) *fixture {
	t.Helper()
	return open(t, host, f.dir, f.path)
}

func open(t *testing.T, host, dir, path string) *fixture {
	t.Helper()
	f := &fixture{dir: dir, path: path, log: new(buffer)}
	alive := func(ctx context.Context, host string) (bool, error) { return f.store.Alive(ctx, host) }
	var err error
	f.Journal, err = spool.New(dir, spool.Options{
		Host: host, Floor: -1, Alive: alive, Log: slog.New(slog.NewTextHandler(f.log, nil)),
	})
	check(t, err)
	f.store, err = sqlite.Open(t.Context(), path, sqlite.Options{Host: host, Busy: 100 * time.Millisecond, Spill: f.Spill})
	check(t, err)
	f.faulty = &faulty{Journal: f.store}
	f.Start(t.Context(), f.faulty)
	t.Cleanup(func() {
		_ = f.Stop(context.Background()) // a test may have closed the store, or left it broken
		check(t, f.store.Close(context.Background()))
	})
	return f
}

func (f *fixture) refuse(m mode) { f.faulty.mode.Store(int32(m)) }

// lock keeps the store from writing while do runs.
func (f *fixture) lock(t *testing.T, do func()) {
	t.Helper()
	release, err := lockFile(f.path)
	check(t, err)
	do()
	check(t, release())
}

func (f *fixture) rows(t *testing.T) (rows []ledger.Row) {
	t.Helper()
	for r, err := range f.store.Rows(t.Context(), ledger.Query{}) {
		check(t, err)
		rows = append(rows, r)
	}
	return rows
}

func (f *fixture) files(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(f.dir)
	check(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// exactly fails unless there are n rows, each once.
func (f *fixture) exactly(t *testing.T, n int) {
	t.Helper()
	names := calls(f.rows(t))
	slices.Sort(names)
	if got := len(slices.Compact(slices.Clone(names))); got != n || len(names) != n {
		t.Errorf("%d rows of %d calls, want %d", len(names), got, n)
	}
	if left := f.files(t); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// mode is how a journal fails.
type mode int32

const (
	nothing mode = iota
	before       // without writing
	after        // the next one, after it was written
)

var errRefused = errors.New("refused")

type faulty struct {
	executor.Journal

	mode atomic.Int32
}

func (f *faulty) End(ctx context.Context, rec executor.Record) error {
	switch mode(f.mode.Load()) {
	case before:
		return errRefused
	case after:
		if rec.Once != "" { // else the row has no name, and cannot be told from another
			if err := f.Journal.End(ctx, rec); err != nil {
				return err
			}
		}
		return errRefused
	default:
		return f.Journal.End(ctx, rec)
	}
}

func row(call string) ledger.Row {
	started := time.UnixMicro(1_790_000_000_000_000).UTC()
	return ledger.Row{
		Started: started, Call: call, Principal: "stdio/local/ann", Op: tool.OpTool, Tool: "orders_delete",
		Adapter: "orders", Effects: tool.Destructive, Spec: tool.DigestOf([]byte("spec")),
	}
}

func begun(call string) executor.Intent { return executor.Intent{Row: row(call), Durable: true} }

func ended(call string) executor.Record {
	r := row(call)
	r.Ended, r.Outcome, r.Attempt, r.Detail = r.Started.Add(time.Second), ledger.OK, 1, "two\nlines\x00\u2028"
	return executor.Record{Row: r}
}

func calls(rows []ledger.Row) (names []string) {
	for _, r := range rows {
		names = append(names, r.Call)
	}
	return names
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func until(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it never happened")
		}
	}
}

// buffer may be written and read at once.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
