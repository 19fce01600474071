// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package startup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolwharf/toolwharf/bench/internal/duel"
	"github.com/toolwharf/toolwharf/bench/internal/load"
	"github.com/toolwharf/toolwharf/bench/internal/proc"
	"github.com/toolwharf/toolwharf/bench/internal/rpc"
)

// First is how long a server takes from its start to the verified answer to its
// first call, and what it holds when it is idle after that: medians.
type First struct {
	Name   string  `json:"name"`
	Millis float64 `json:"first_call_ms"`
	PSS    float64 `json:"idle_pss_bytes"` // of all its processes; 0: not to be had
}

// FirstCalls starts each of the contenders several times, by turns.
func FirstCalls(ctx context.Context, all []duel.Contender, rounds int) ([]First, error) {
	took, held := make([][]float64, len(all)), make([][]float64, len(all))
	for range rounds {
		for i, c := range all {
			f, err := firstCall(ctx, c)
			if err != nil {
				return nil, fmt.Errorf("first call of %s: %w", c.Name, err)
			}
			took[i], held[i] = append(took[i], f.Millis), append(held[i], f.PSS)
		}
	}
	firsts := make([]First, len(all))
	for i, c := range all {
		firsts[i] = First{c.Name, median(took[i]), median(held[i])}
	}
	return firsts, nil
}

func firstCall(ctx context.Context, c duel.Contender) (f First, err error) {
	s, err := c.Start(ctx)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	conn, err := rpc.Dial(ctx, s.Address, s.Path, c.Tool)
	if err != nil {
		return f, err
	}
	defer conn.Close()
	if err := conn.Call(1); err != nil {
		return f, s.Fault(&load.CallError{Err: err})
	}
	f.Millis = float64(time.Since(s.Started).Microseconds()) / 1000
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return f, ctx.Err()
	}
	f.PSS = float64(proc.PSS(proc.Tree(s.PID())...))
	return f, nil
}
