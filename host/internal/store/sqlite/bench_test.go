// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// BenchmarkEnd measures rows a second, with the CPU time of the whole process,
// callers included, a row.
func BenchmarkEnd(b *testing.B) {
	for _, mode := range []struct {
		name   string
		behind bool
		opts   Options
	}{
		{"durable", false, Options{}},
		{"commit-per-call", false, Options{Batch: 1}},
		{"behind", true, Options{}},
	} {
		for _, callers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", mode.name, callers), func(b *testing.B) {
				benchmarkEnd(b, []*Store{openBench(b, filepath.Join(b.TempDir(), "x.db"), mode.opts)}, callers, mode.behind)
			})
		}
	}
	b.Run("durable/callers=64/processes=2", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "x.db")
		benchmarkEnd(b, []*Store{openBench(b, path, Options{}), openBench(b, path, Options{})}, 64, false)
	})
}

func openBench(b *testing.B, path string, opts Options) *Store {
	b.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		b.Fatal(err)
	}
	opts.Signer = ledger.NewSigner(key)
	s, err := Open(context.Background(), path, opts)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func benchmarkEnd(b *testing.B, stores []*Store, callers int, behind bool) {
	b.Helper()
	b.ReportAllocs()
	took := make([][]time.Duration, callers)
	cpu := cpuTime()
	b.ResetTimer()
	var wg sync.WaitGroup
	for c := range callers {
		n := b.N / callers
		if c < b.N%callers {
			n++
		}
		wg.Go(func() {
			s := stores[c%len(stores)]
			rec := benchRecord(behind)
			for range n {
				start := time.Now()
				rec.Call = tool.NewID(tool.PrefixCall)
				if err := s.End(context.Background(), rec); err != nil {
					b.Error(err)
				}
				took[c] = append(took[c], time.Since(start))
			}
		})
	}
	wg.Wait()
	var commits int64
	for _, s := range stores {
		if err := s.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
		h := s.Health()
		if h.Lost > 0 {
			b.Fatal(h.LostErr)
		}
		commits += h.Commits
	}
	b.StopTimer()
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/float64(b.N), "cpu-µs/row")
	b.ReportMetric(float64(b.N)/float64(commits), "rows/commit")
	b.ReportMetric(float64(all[len(all)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Nanoseconds())/1e3, "p99-µs")
}

// BenchmarkBehind measures what a row behind costs its caller.
func BenchmarkBehind(b *testing.B) {
	s := openBench(b, filepath.Join(b.TempDir(), "x.db"), Options{Queue: 1 << 20, Batch: 1 << 20, Behind: time.Hour})
	rec := benchRecord(true)
	ctx := context.Background()
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if n == 10_000 { // as many as may lie in memory, then let the writer have them
			b.StopTimer()
			if err := s.End(ctx, benchRecord(false)); err != nil {
				b.Fatal(err)
			}
			n = 0
			b.StartTimer()
		}
		if err := s.End(ctx, rec); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(ctx); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkRows measures reading, by scan and by index.
func BenchmarkRows(b *testing.B) {
	s := openBench(b, filepath.Join(b.TempDir(), "x.db"), Options{})
	const rows = 100_000
	ctx := context.Background()
	for i := range rows {
		rec := benchRecord(true)
		rec.Call = fmt.Sprintf("call_%d", i)
		rec.Run = fmt.Sprintf("run_%d", i/10)
		rec.Behind = i < rows-1
		if err := s.End(ctx, rec); err != nil {
			b.Fatal(err)
		}
	}
	for _, q := range []struct {
		name  string
		query ledger.Query
		want  int
	}{
		{"all", ledger.Query{}, rows},
		{"last 20", ledger.Query{Last: 20}, 20},
		{"one run", ledger.Query{Run: "run_77"}, 10},
		{"one call", ledger.Query{Call: "call_77"}, 1},
	} {
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for _, err := range s.Rows(ctx, q.query) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
				if n != q.want {
					b.Fatalf("%d rows", n)
				}
			}
		})
	}
	if err := s.Close(ctx); err != nil {
		b.Fatal(err)
	}
}

// benchRecord is a usual row: a read that succeeded.
func benchRecord(behind bool) executor.Record {
	now := time.Now()
	return executor.Record{Behind: behind, Row: ledger.Row{
		Host:        "host_ABCDEFGHIJKLMNOPQRSTUVWXYZ",
		Started:     now,
		Ended:       now.Add(1234 * time.Microsecond),
		Call:        "call_ABCDEFGHIJKLMNOPQRSTUVWXYZ",
		Run:         "run_ABCDEFGHIJKLMNOPQRSTUVWXYZ",
		Attempt:     1,
		Principal:   `["client","https://issuer.example","user-1234"]`,
		Op:          tool.OpTool,
		Tool:        "orders_query",
		Adapter:     "orders",
		Effects:     tool.ReadOnly,
		Spec:        tool.DigestOf([]byte("spec")),
		Args:        tool.DigestOf([]byte("args")),
		Outcome:     ledger.OK,
		ResultBytes: 1234,
		Client:      "claude-code 2.0.1",
		Protocol:    "2026-07-28",
	}}
}
