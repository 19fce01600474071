// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/engine"
)

// asSomebody runs do on a thread that may read what everybody may read, and
// write nothing, not beside path either: as in a sandbox that grants the
// reading of files.
func asSomebody(t *testing.T, path string, do func()) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to be somebody else")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with its identity
		if err := errors.Join(syscall.Setfsgid(65534), syscall.Setfsuid(65534)); err != nil {
			t.Error(err)
			return
		}
		if f, err := os.OpenFile(filepath.Join(filepath.Dir(path), "probe"), os.O_CREATE, 0o600); err == nil {
			_ = f.Close()
			t.Error("somebody can write after all")
			return
		}
		do()
	}()
	<-done
}

// readable makes a database that everybody may read.
func readable(t *testing.T, scripts ...string) string {
	t.Helper()
	path := newFile(t, scripts...)
	for _, dir := range []string{filepath.Dir(path), filepath.Dir(filepath.Dir(path))} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const walSchema = "PRAGMA journal_mode = WAL; CREATE TABLE t(id INT); INSERT INTO t VALUES (1)"

func TestAWALDatabaseThatNobodyWritesIsReadWithoutItsLog(t *testing.T) {
	path := readable(t, walSchema)
	asSomebody(t, path, func() {
		d := open(t, path, testLimits, "t")
		if a := mustQuery(t, d, "SELECT count(*) AS n FROM t"); a.Rows[0]["n"] != 1.0 {
			t.Errorf("%v", a.Rows)
		}
		c, err := d.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer d.pool.Release(c)
		if !c.unwritten {
			t.Error("the log could be made")
		}
	})
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("reading has left something: %v %v", entries, err)
	}
}

func TestAWALDatabaseIsReadWithItsLogOnceThereIsOne(t *testing.T) {
	path := readable(t, walSchema)
	count := func(d *DB, want float64) {
		t.Helper()
		if a := mustQuery(t, d, "SELECT count(*) AS n FROM t"); a.Rows[0]["n"] != want {
			t.Errorf("%v rows, want %v", a.Rows[0]["n"], want)
		}
	}
	insert := make(chan struct{})
	inserted := make(chan struct{})
	go func() {
		w := writer(t, path)
		for range insert {
			if err := w.Exec("INSERT INTO t VALUES (2)"); err != nil {
				t.Error(err)
			}
			inserted <- struct{}{}
		}
		_ = w.Close()
		close(inserted)
	}()
	another := func() { insert <- struct{}{}; <-inserted }
	asSomebody(t, path, func() {
		d := open(t, path, testLimits, "t")
		count(d, 1)
		another() // makes the log
		count(d, 2)
		another()
		count(d, 3)
		close(insert) // the last writer writes the log into the file and removes it
		<-inserted
		count(d, 3)
	})
}

func TestALogThatCannotBeReadIsAFault(t *testing.T) {
	path := readable(t, walSchema)
	w := writer(t, path)
	defer w.Close()
	if err := w.Exec("INSERT INTO t VALUES (2)"); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Chmod(path+suffix, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asSomebody(t, path, func() {
		_, err := Open(t.Context(), path, Options{Limits: testLimits, Tables: []string{"t"}})
		var fault *OpenError
		if !errors.As(err, &fault) || !strings.Contains(fault.Summary, "log cannot be read") || strings.Contains(err.Error(), path) {
			t.Errorf("%v", err)
		}
	})
}

func TestAFileThatMayNotBeReadIsAFault(t *testing.T) {
	path := readable(t, walSchema)
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	asSomebody(t, path, func() {
		_, err := Open(t.Context(), path, Options{Limits: testLimits, Tables: []string{"t"}})
		var fault *OpenError
		if !errors.As(err, &fault) || strings.Contains(err.Error(), path) {
			t.Errorf("%v", err)
		}
		t.Log(err)
	})
}

func TestALogThatComesAfterTheStartAndMayNotBeReadIsAReasonToStartAnew(t *testing.T) {
	path := readable(t, walSchema)
	asSomebody(t, path, func() {
		shut := 0
		d, err := Open(t.Context(), path, Options{Limits: testLimits, Tables: []string{"t"}, ShutOut: func() { shut++ }})
		if err != nil {
			t.Error(err)
			return
		}
		defer d.Close()
		mustQuery(t, d, "SELECT count(*) AS n FROM t")
		written := make(chan struct{})
		go func() { // on another thread, as root
			defer close(written)
			w := writer(t, path)
			t.Cleanup(func() { _ = w.Close() })
			if err := w.Exec("INSERT INTO t VALUES (2)"); err != nil {
				t.Error(err)
			}
			for _, suffix := range []string{"-wal", "-shm"} {
				if err := os.Chmod(path+suffix, 0o600); err != nil {
					t.Error(err)
				}
			}
		}()
		<-written
		if a, err := d.Query(t.Context(), engine.Statement{SQL: "SELECT count(*) AS n FROM t"}); err == nil || shut == 0 {
			t.Errorf("%s, %v, shut out %d times", a, err, shut)
		}
	})
}
