// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package life

import (
	"context"
	"fmt"
	"time"
)

// Pulse is how an instance that serves is asked for its health. The zero Pulse is
// the default.
type Pulse struct {
	// Every so often it is asked,
	Every time.Duration
	// must answer within this time,
	Within time.Duration
	// and is ended after so many misses in a row.
	Misses int
}

// steady: a plugin that hangs is ended after half a minute, and one that is only
// slow once is not.
var steady = Pulse{Every: 10 * time.Second, Within: 5 * time.Second, Misses: 3}

// beat asks for the health of the instance until ctx or the instance ends, or says
// once that it is ill.
func (r *running) beat(ctx context.Context, p Pulse) {
	if p == (Pulse{}) {
		p = steady
	}
	tick := time.NewTicker(p.Every)
	defer tick.Stop()
	for missed := 0; ; {
		select {
		case <-tick.C:
		case <-r.instance.Done():
			return
		case <-ctx.Done():
			return
		}
		asked, cancel := context.WithTimeout(ctx, p.Within)
		err := r.instance.Health(asked)
		cancel()
		if err == nil {
			missed = 0
			continue
		}
		if missed++; missed < p.Misses {
			continue
		}
		select {
		case r.ill <- fmt.Errorf("it did not answer %d health checks in a row: %w", missed, err):
		case <-r.instance.Done():
		case <-ctx.Done():
		}
		return
	}
}

// putDown ends an instance that lives and does not answer. What follows is what
// follows a crash.
func (l *Life) putDown(r *running, why error) {
	l.config.Log.Error("adapter is ill and is ended", "adapter", l.config.Name, "pid", r.instance.About().PID, "reason", why)
	r.illness = why
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // there is nobody to ask: by force
	if err := r.instance.Drain(ctx); err != nil {
		l.config.Log.Error("adapter was not ended", "adapter", l.config.Name, "error", err)
	}
}
