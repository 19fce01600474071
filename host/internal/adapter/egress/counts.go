// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/time/rate"
)

// Counts are what has gone through a gate since it was opened.
type Counts struct {
	Open           int    // connections at the moment, those that are being made included
	Opened         uint64 // let through
	Refused        uint64 // not granted, not allowed, not understood, too many
	Failed         uint64 // allowed, but not connected
	Sent, Received uint64 // bytes that have left the machine and come in
}

type counts struct {
	opened, refused, failed, sent, received atomic.Uint64
}

// Counts counts.
func (g *Gate) Counts() Counts {
	return Counts{
		Open: len(g.slots), Opened: g.counts.opened.Load(), Refused: g.counts.refused.Load(), Failed: g.counts.failed.Load(),
		Sent: g.counts.sent.Load(), Received: g.counts.received.Load(),
	}
}

// says writes to a log at a pace that an adapter cannot raise.
type says struct {
	log    hclog.Logger
	pace   *rate.Limiter
	unsaid atomic.Int64
}

func (s *says) warn(message string, args ...any) {
	if !s.pace.Allow() {
		s.unsaid.Add(1)
		return
	}
	if n := s.unsaid.Swap(0); n > 0 {
		args = append(args, "unsaid", n)
	}
	s.log.Warn(message, args...)
}
