// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package duel

import "github.com/toolwharf/toolwharf/bench/internal/load"

// Result is what a pair's comparison showed.
type Result struct {
	Pair     string  `json:"pair"`
	Baseline string  `json:"baseline"`
	Subject  string  `json:"subject"`
	Levels   []Level `json:"levels"`
}

// Level is the comparison at one number of clients.
type Level struct {
	Clients  int    `json:"clients"`
	Baseline Side   `json:"baseline"`
	Subject  Side   `json:"subject"`
	Ratios   Ratios `json:"ratios"`
}

// Side is what one server did at a level: each slice, and the figures of the
// middle one, each figure by itself.
type Side struct {
	Slices    []load.Slice `json:"slices"`
	Calls     int          `json:"calls"` // in all slices
	PerSecond Spread       `json:"calls_per_second"`
	P50       Spread       `json:"p50_us"`
	P99       Spread       `json:"p99_us"`
	CPU       Spread       `json:"server_cpu_us_per_call"`
	RSS       Spread       `json:"server_rss_bytes"`
	PSS       Spread       `json:"server_pss_bytes"`
}

// Ratios are subject divided by baseline, round by round.
type Ratios struct {
	PerSecond Spread `json:"calls_per_second"`
	P50       Spread `json:"p50"`
	P99       Spread `json:"p99"`
	CPU       Spread `json:"server_cpu"`
}

// newLevel works out what follows from the slices of both, which are in the
// order of the rounds.
func newLevel(clients int, baseline, subject []load.Slice) Level {
	of := func(figure func(load.Slice) float64) Spread { return ratio(subject, baseline, figure) }
	return Level{
		Clients: clients, Baseline: newSide(baseline), Subject: newSide(subject),
		Ratios: Ratios{PerSecond: of(perSecond), P50: of(p50), P99: of(p99), CPU: of(cpu)},
	}
}

func newSide(all []load.Slice) Side {
	s := Side{
		Slices:    all,
		PerSecond: over(all, perSecond), P50: over(all, p50), P99: over(all, p99),
		CPU: over(all, cpu), RSS: over(all, rss), PSS: over(all, pss),
	}
	for _, slice := range all {
		s.Calls += slice.Calls
	}
	return s
}
