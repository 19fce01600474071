// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"os"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/telemetry"
)

// tracesTime bounds what is waited at the end for a collector.
const tracesTime = 3 * time.Second

// newTraces begins to send traces if the environment says where to; nil if it does
// not. What it says and cannot be done is warned of: it is often meant for other
// programs too.
func newTraces(ctx context.Context, o Options) (*telemetry.Traces, error) {
	wanted, err := telemetry.TracesWanted(os.Getenv)
	if err != nil {
		o.Log.Warn("NO TRACES are sent", "reason", err)
	}
	if !wanted {
		return nil, nil //nolint:nilnil // none are what there is
	}
	if o.OwnProcess {
		log := o.Log.Named("traces")
		telemetry.TellFaults(func(err error) { log.Warn("traces", "error", err) })
	}
	return telemetry.NewTraces(ctx, o.Version)
}

// tracer is what the executor is followed by.
func (h *Host) tracer() executor.Tracer {
	if h.traces == nil {
		return nil
	}
	return h.traces
}

// callEnded hears of each call that has ended.
func (h *Host) callEnded(ctx context.Context, row ledger.Row) {
	h.metrics.Call(ctx, row)
	if h.traces != nil {
		h.traces.Tell(ctx, row)
	}
}
