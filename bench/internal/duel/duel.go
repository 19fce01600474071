// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package duel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolwharf/toolwharf/bench/internal/load"
	"github.com/toolwharf/toolwharf/bench/internal/rpc"
	"github.com/toolwharf/toolwharf/bench/internal/server"
)

// Pair is two servers to compare. A further pair, of other tools or another
// rival, is another value of this type.
type Pair struct {
	Name     string
	Baseline Contender
	Subject  Contender
}

// Contender is one server of a pair and the tool of it that is called.
type Contender struct {
	Name  string
	Start func(context.Context) (*server.Server, error)
	Tool  rpc.Tool
}

// Options say how long a comparison takes: two slices a round at each level.
type Options struct {
	Rounds  int
	Slice   time.Duration
	Clients []int // the levels
}

// warmUp is the share of a slice that each server gets at each level before
// anything counts: heaps grow and connections and goroutines exist by then.
const warmUp = 4

// Run starts both servers, compares them and ends them.
func Run(ctx context.Context, p Pair, o Options) (r *Result, err error) {
	var targets [2]target
	for i, c := range []Contender{p.Baseline, p.Subject} {
		s, err := c.Start(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		defer func() { err = errors.Join(err, s.Stop()) }()
		targets[i] = target{load.Target{Address: s.Address, Path: s.Path, PID: s.PID(), Tool: c.Tool}, s}
	}
	r = &Result{Pair: p.Name, Baseline: p.Baseline.Name, Subject: p.Subject.Name}
	for _, clients := range o.Clients {
		level, err := compare(ctx, p, targets, clients, o)
		if err != nil {
			return nil, err
		}
		r.Levels = append(r.Levels, level)
	}
	return r, nil
}

// target is a server that has started.
type target struct {
	load.Target
	server *server.Server
}

// compare is all rounds at one level. Whoever went first in a round goes second
// in the next.
func compare(ctx context.Context, p Pair, targets [2]target, clients int, o Options) (Level, error) {
	names := [2]string{p.Baseline.Name, p.Subject.Name}
	burst := func(i int, length time.Duration) (load.Slice, error) {
		s, err := load.Run(ctx, targets[i].Target, clients, length)
		if err != nil {
			return s, targets[i].server.Fault(fmt.Errorf("%s with %d clients: %w", names[i], clients, err))
		}
		return s, nil
	}
	for i := range targets {
		if _, err := burst(i, o.Slice/warmUp); err != nil {
			return Level{}, err
		}
	}
	var slices [2][]load.Slice
	for round := range o.Rounds {
		for turn := range targets {
			i := (round + turn) % len(targets)
			s, err := burst(i, o.Slice)
			if err != nil {
				return Level{}, err
			}
			slices[i] = append(slices[i], s)
		}
	}
	return newLevel(clients, slices[0], slices[1]), nil
}
