// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
)

func TestAStoreThatIsBusyForTooLongSaysSoAndRecovers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	var log buffer
	spilt := make(chan ledger.Row, 10)
	s := open(t, path, Options{
		Busy:  time.Millisecond,
		Log:   slog.New(slog.NewTextHandler(&log, nil)),
		Spill: func(r ledger.Row, _ error) { spilt <- r },
	})
	release, err := block(path)
	check(t, err)
	rec := benchRecord(true)
	check(t, s.End(t.Context(), rec))
	err = s.End(t.Context(), benchRecord(false)) // takes the row behind along
	if !errors.Is(err, sqlite3.BUSY) {
		t.Errorf("got %v", err)
	}
	if h := s.Health(); !errors.Is(h.Err, sqlite3.BUSY) || h.Lost != 1 || !errors.Is(h.LostErr, sqlite3.BUSY) {
		t.Errorf("health %+v", h)
	}
	if got := <-spilt; got != rec.Row {
		t.Errorf("spilt %+v", got)
	}
	if got := log.String(); !strings.Contains(got, "could not be written") || !strings.Contains(got, rec.Call) {
		t.Errorf("log: %s", got)
	}
	check(t, release())
	check(t, s.End(t.Context(), benchRecord(false)))
	if h := s.Health(); h.Err != nil || h.Lost != 1 || h.Rows != 1 {
		t.Errorf("health %+v", h)
	}
}

func TestARowThatSpoilsItsTransactionFailsAlone(t *testing.T) {
	for name, trigger := range map[string]string{
		"rolled back":   "BEFORE INSERT ON ledger WHEN NEW.tool = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'spoilt'); END",
		"half an entry": "BEFORE DELETE ON intents WHEN OLD.call = 'bad' BEGIN SELECT RAISE(ABORT, 'spoilt'); END",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			s := open(t, path, Options{Busy: time.Minute})
			begun := executor.Intent{Row: benchRecord(false).Row, Durable: true}
			begun.Call = "bad"
			check(t, s.Begin(t.Context(), begun))
			check(t, execute(path, "CREATE TRIGGER spoil "+trigger))
			release, err := block(path)
			check(t, err)
			const callers = 20
			var wg sync.WaitGroup
			errs := make([]error, callers)
			for i := range callers {
				wg.Go(func() {
					rec := benchRecord(false)
					rec.Call = strconv.Itoa(i)
					if i == callers/2 {
						rec.Call, rec.Tool, rec.Started = "bad", "bad", begun.Started
					}
					errs[i] = s.End(context.Background(), rec)
				})
			}
			for s.Health().Queued < callers {
				time.Sleep(time.Millisecond)
			}
			check(t, release())
			wg.Wait()
			for i, err := range errs {
				if (err != nil) != (i == callers/2) {
					t.Errorf("%d: %v", i, err)
				}
			}
			var seqs []int64
			for r, err := range s.Rows(t.Context(), ledger.Query{}) {
				check(t, err)
				seqs = append(seqs, r.Seq)
				if r.Call == "bad" {
					t.Error("the bad row is there")
				}
			}
			if len(seqs) != callers-1 || seqs[len(seqs)-1] != callers-1 {
				t.Errorf("seqs %v", seqs)
			}
		})
	}
}

func TestTheLogStaysShortWhileATailReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s := open(t, path, Options{})
	const rows = 30_000 // 15 MB
	go func() {
		for i := range rows {
			if err := s.End(context.Background(), benchRecord(i < rows-1)); err != nil {
				t.Error(err)
			}
		}
	}()
	longest := int64(0)
	for r, err := range s.Tail(t.Context(), ledger.Query{}) {
		check(t, err)
		if r.Seq%100 == 0 {
			info, err := os.Stat(path + "-wal")
			check(t, err)
			longest = max(longest, info.Size())
		}
		if r.Seq == rows {
			break
		}
	}
	if longest > 3*checkpointPages*4200 {
		t.Errorf("the log grew to %d bytes", longest)
	}
}

func TestAnOpenStoreHasTheSettingsThatItCountsOn(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "x.db"), Options{})
	for pragma, want := range map[string]int64{
		"foreign_keys":       1,
		"synchronous":        2,
		"wal_autocheckpoint": 0,
		"application_id":     applicationID,
		"user_version":       int64(len(migrations)),
	} {
		if got, err := readNumber(s.writer.conn, "PRAGMA "+pragma); got != want || err != nil {
			t.Errorf("%s is %d, %v", pragma, got, err)
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

func TestATailOfThisProcessNeedNotPoll(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "x.db"), Options{})
	rung := s.bell.wait()
	check(t, s.End(t.Context(), benchRecord(true)))
	<-rung
	rung = s.bell.wait()
	check(t, s.End(t.Context(), benchRecord(false)))
	<-rung
}
