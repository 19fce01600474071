// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package duel

import (
	"slices"

	"github.com/toolwharf/toolwharf/bench/internal/load"
)

// Spread is the median of some values and how far they lie apart. It is all
// zeros when there are none.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

func spread(values []float64) Spread {
	n := len(values)
	if n == 0 {
		return Spread{}
	}
	values = slices.Sorted(slices.Values(values))
	median := values[n/2]
	if n%2 == 0 {
		median = (values[n/2-1] + values[n/2]) / 2
	}
	return Spread{Median: median, Min: values[0], Max: values[n-1]}
}

// over is the spread of one figure over slices.
func over(of []load.Slice, figure func(load.Slice) float64) Spread {
	values := make([]float64, len(of))
	for i, s := range of {
		values[i] = figure(s)
	}
	return spread(values)
}

// ratio is the spread of the subject's figure divided by the baseline's of the
// same round. Rounds in which the baseline's is unknown are left out.
func ratio(subject, baseline []load.Slice, figure func(load.Slice) float64) Spread {
	var values []float64
	for i := range min(len(subject), len(baseline)) {
		if b := figure(baseline[i]); b > 0 {
			values = append(values, figure(subject[i])/b)
		}
	}
	return spread(values)
}

// The figures of a slice that are compared.
func perSecond(s load.Slice) float64 { return s.PerSecond }
func p50(s load.Slice) float64       { return s.P50 }
func p99(s load.Slice) float64       { return s.P99 }
func cpu(s load.Slice) float64       { return s.CPU }
func rss(s load.Slice) float64       { return float64(s.RSS) }
func pss(s load.Slice) float64       { return float64(s.PSS) }
