// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/bench/internal/duel"
	"github.com/toolwharf/toolwharf/bench/internal/startup"
)

func TestMarkdownLeavesTheCellOfAnUnknownFigureEmpty(t *testing.T) {
	of := func(v float64) duel.Spread { return duel.Spread{Median: v, Min: v, Max: v} }
	level := duel.Level{
		Clients:  8,
		Baseline: duel.Side{Calls: 10, PerSecond: of(5), P50: of(200), P99: of(900)},
		Subject:  duel.Side{Calls: 20, PerSecond: of(10), P50: of(100), P99: of(450), CPU: of(33), RSS: of(3 << 20), PSS: of(2 << 20)},
		Ratios:   duel.Ratios{PerSecond: duel.Spread{Median: 2, Min: 1.5, Max: 2.5}},
	}
	r := Report{Pairs: []*duel.Result{{Pair: "Echo", Baseline: "A", Subject: "B", Levels: []duel.Level{level}}}}
	r.Startup = []startup.Result{
		{Adapters: 1, Sandbox: "off", Millis: 90, HostPSS: 2 << 20, RestPSS: 1 << 20},
		{Adapters: 1, Sandbox: "auto", Millis: 99.6, HostPSS: 25 << 20, RestPSS: 16 << 20},
		{Adapters: 3, Sandbox: "auto", Millis: 150, HostPSS: 27 << 20, RestPSS: 22 << 20},
	}
	var b strings.Builder
	if err := r.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| 8 | A | 5 | 200 | 900 |  |  |  | 10 |\n",
		"| 8 | B | 10 | 100 | 450 | 33 | 3.0 | 2.0 | 20 |\n",
		"B / A, round by round",
		"| 1 | auto | 100 | 25.0 | 16.0 |\n",
		"Each further adapter of the same binary (auto): 4.0 MB.\n",
		"| 8 | 2.00 (1.50 to 2.50) |  |  |  |\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}
