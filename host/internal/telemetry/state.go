// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// State is how a host fares at one moment.
type State struct {
	// Ready and Faults are those of /readyz; Stale: the newest configuration was
	// refused, and the one before it holds.
	Ready  bool
	Faults int
	Stale  bool
	// Pending approvals; negative: the store did not say.
	Pending  int
	Adapters []AdapterState
	// States are all that an adapter may be in.
	States []string
	Ledger LedgerState
}

// AdapterState is how one adapter fares.
type AdapterState struct {
	Name, State string
	Tools       int
	Crashes     int
	// InFlight calls are at the adapter, Waiting ones wait for a slot.
	InFlight, Waiting int
	// Memory of its process in bytes, 0 if it is not known.
	Memory int64
}

// LedgerState is how the ledger fares.
type LedgerState struct {
	// Queued rows are not durable yet, Written ones are, Lost ones never will be.
	Queued        int
	Written, Lost int64
	// Spooled: rows wait in the spool for the store. Full: too little is left of
	// the disk for calls with effects.
	Spooled, Full bool
}

// observe shows the state whenever metrics are asked for.
func (b *builder) observe(look func(context.Context) State) {
	var (
		ready   = b.gauge("toolwharf.ready", "", "1 if /readyz is 200.")
		faults  = b.gauge("toolwharf.faults", "{fault}", "Faults that /readyz lists.")
		stale   = b.gauge("toolwharf.config.stale", "", "1 if the newest configuration was refused, and the one before it holds.")
		pending = b.gauge("toolwharf.approvals.pending", "{approval}", "Approvals that wait for a decision.")

		state    = b.gauge("toolwharf.adapter.state", "", "1 for the state that an adapter is in, 0 for the others.")
		tools    = b.gauge("toolwharf.adapter.tools", "{tool}", "Tools that an adapter offers.")
		crashes  = b.total("toolwharf.adapter.crashes", "{crash}", "How often an adapter ended by itself.")
		memory   = b.gauge("toolwharf.adapter.memory", "By", "Resident memory of an adapter's process (Linux).")
		inFlight = b.gauge("toolwharf.calls.in_flight", "{call}", "Calls that an adapter is working on.")
		waiting  = b.gauge("toolwharf.calls.queued", "{call}", "Calls that wait for a slot of an adapter.")

		queued  = b.gauge("toolwharf.ledger.queued", "{row}", "Rows and intents that are not durable yet.")
		written = b.total("toolwharf.ledger.rows", "{row}", "Rows that were written.")
		lost    = b.total("toolwharf.ledger.lost", "{row}", "Rows that could not be written.")
		spooled = b.gauge("toolwharf.spool.waiting", "", "1 while rows wait in the spool for the store.")
		full    = b.gauge("toolwharf.disk.full", "", "1 while too little is left of the disk for calls with effects.")
	)
	_, err := b.meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		show := func(what metric.Int64Observable, n int64, labels ...attribute.KeyValue) {
			o.ObserveInt64(what, n, metric.WithAttributes(labels...))
		}
		s := look(ctx)
		show(ready, boolean(s.Ready))
		show(faults, int64(s.Faults))
		show(stale, boolean(s.Stale))
		if s.Pending >= 0 {
			show(pending, int64(s.Pending))
		}
		for _, a := range s.Adapters {
			name := attribute.String("adapter", a.Name)
			for _, one := range s.States {
				show(state, boolean(one == a.State), name, attribute.String("state", one))
			}
			show(tools, int64(a.Tools), name)
			show(crashes, int64(a.Crashes), name)
			if a.Memory > 0 {
				show(memory, a.Memory, name)
			}
			show(inFlight, int64(a.InFlight), name)
			show(waiting, int64(a.Waiting), name)
		}
		show(queued, int64(s.Ledger.Queued))
		show(written, s.Ledger.Written)
		show(lost, s.Ledger.Lost)
		show(spooled, boolean(s.Ledger.Spooled))
		show(full, boolean(s.Ledger.Full))
		return nil
	}, b.shown...)
	b.keep(err)
}
