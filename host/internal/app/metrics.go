// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	httpface "github.com/toolwharf/toolwharf/host/internal/face/http"
	"github.com/toolwharf/toolwharf/host/internal/store/spool"
	"github.com/toolwharf/toolwharf/host/internal/telemetry"
)

// storeTime bounds what the store is asked for metrics.
const storeTime = time.Second

// state is how the host fares, for metrics.
func (h *Host) state(ctx context.Context) telemetry.State {
	ready := h.readiness()
	s := telemetry.State{Ready: ready.Ready, Faults: len(ready.Faults), Pending: -1}
	if r := h.reloads.told(); r != nil {
		s.Stale = len(r.Refused) > 0
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	if n, err := h.vault.store.Pending(ctx); err == nil {
		s.Pending = int(n)
	}
	for _, a := range h.reconciler.Status() {
		working, waiting := h.executor.InFlight(a.Name)
		s.Adapters = append(s.Adapters, telemetry.AdapterState{
			Name: a.Name, State: string(a.State), Tools: a.Tools, Crashes: a.Crashes,
			InFlight: working, Waiting: waiting, Memory: resident(a.PID),
		})
	}
	for _, one := range adapter.States() {
		s.States = append(s.States, string(one))
	}
	health, fault := h.vault.store.Health(), h.vault.spool.Fault()
	s.Ledger = telemetry.LedgerState{
		Queued: health.Queued, Written: health.Rows, Lost: health.Lost,
		Spooled: errors.Is(fault, spool.ErrWaiting), Full: errors.Is(fault, spool.ErrFloor),
	}
	return s
}

// exchanged hears of each request over HTTP.
func (h *Host) exchanged(x httpface.Exchange) {
	ctx := context.Background()
	if h.access != nil {
		h.logAccess(x)
	}
	h.metrics.Request(ctx, x.Method, x.Route, x.Status, x.Took)
	switch {
	case x.Refused != "":
		h.refused(x.Refused)
	case x.Status >= 400: // by what is behind the door
		h.refused("http_" + strconv.Itoa(x.Status))
	}
}

func (h *Host) refused(code string) { h.metrics.Refused(context.Background(), code) }
