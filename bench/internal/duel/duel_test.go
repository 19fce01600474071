// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package duel

import (
	"math"
	"testing"

	"github.com/toolwharf/toolwharf/bench/internal/load"
)

func TestSpread(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
		want   Spread
	}{
		{"of none", nil, Spread{}},
		{"of one", []float64{3}, Spread{3, 3, 3}},
		{"of an odd number, the middle one", []float64{9, 1, 2}, Spread{2, 1, 9}},
		{"of an even number, between the middle two", []float64{4, 1, 2, 9}, Spread{3, 1, 9}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := spread(tt.values); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestRatiosAreTakenRoundByRound(t *testing.T) {
	// The machine was ten times slower in the second round. Each round says
	// twice as fast; the ratio of the medians would say 1.1.
	baseline := []load.Slice{{PerSecond: 1000, P50: 10, CPU: 0}, {PerSecond: 100, P50: 100, CPU: 0}}
	subject := []load.Slice{{PerSecond: 2000, P50: 5, CPU: 3}, {PerSecond: 200, P50: 50, CPU: 3}}
	l := newLevel(8, baseline, subject)
	if want := (Spread{2, 2, 2}); l.Ratios.PerSecond != want {
		t.Errorf("calls/s: %v, want %v", l.Ratios.PerSecond, want)
	}
	if got := l.Ratios.P50.Median; math.Abs(got-0.5) > 1e-9 {
		t.Errorf("p50: %v, want 0.5", got)
	}
	if l.Ratios.CPU != (Spread{}) {
		t.Errorf("CPU, unknown of the baseline: %v", l.Ratios.CPU)
	}
	if l.Subject.PerSecond != (Spread{1100, 200, 2000}) {
		t.Errorf("calls/s of the subject: %v", l.Subject.PerSecond)
	}
}
