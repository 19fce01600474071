// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"slices"
	"time"

	"github.com/toolwharf/toolwharf/bench/internal/proc"
)

// Slice is one burst of calls.
type Slice struct {
	Calls     int     `json:"calls"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"calls_per_second"`
	P50       float64 `json:"p50_us"`
	P99       float64 `json:"p99_us"`
	// CPU is what the server's processes took for a call in user and system
	// time, and RSS and PSS what they held after the last one; 0 where it is not
	// known.
	CPU float64 `json:"server_cpu_us_per_call,omitempty"`
	RSS int64   `json:"server_rss_bytes,omitempty"`
	PSS int64   `json:"server_pss_bytes,omitempty"`
}

// summarize makes a Slice of the latencies of its calls and of what the server
// had used before and after. It sorts the latencies.
func summarize(latencies []time.Duration, took time.Duration, before, after proc.Usage) Slice {
	s := Slice{Calls: len(latencies), Seconds: took.Seconds(), RSS: after.RSS}
	if s.Calls == 0 {
		return s
	}
	slices.Sort(latencies)
	s.PerSecond = float64(s.Calls) / took.Seconds()
	s.P50 = micros(quantile(latencies, 0.50))
	s.P99 = micros(quantile(latencies, 0.99))
	s.CPU = micros(after.CPU-before.CPU) / float64(s.Calls)
	return s
}

// quantile is the smallest value that at least the share q of them does not
// exceed. The values are sorted and not empty.
func quantile(sorted []time.Duration, q float64) time.Duration {
	i := int(q * float64(len(sorted)))
	if float64(i) == q*float64(len(sorted)) {
		i--
	}
	return sorted[min(max(i, 0), len(sorted)-1)]
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
