// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import "time"

// State is where an adapter is in its life.
type State string

// The states:
//
//	waiting -> starting -> ready -> draining -> stopped
//
// with failed (its configuration was refused), backing_off (it will be tried
// again) and quarantined (it will not, until something changes).
const (
	Waiting     State = "waiting"
	Starting    State = "starting"
	Ready       State = "ready"
	Draining    State = "draining"
	Stopped     State = "stopped"
	Failed      State = "failed"
	BackingOff  State = "backing_off"
	Quarantined State = "quarantined"
)

// States are all of them.
func States() []State {
	return []State{Waiting, Starting, Ready, Draining, Stopped, Failed, BackingOff, Quarantined}
}

// Status is what an operator sees of an adapter.
type Status struct {
	Name    string
	Plugin  string
	State   State
	Since   time.Time
	Path    string
	Version string
	PID     int
	Prefix  string
	Tools   int
	// Crashes of this adapter since the host started.
	Crashes int
	// Behind: what serves is not what is wanted: that is starting, or did not
	// start, or nothing is wanted any more.
	Behind bool
	// Cause is why it is not ready, or why the newest version of it is not
	// what runs.
	Cause string
	// Retry is when it will be tried again.
	Retry *time.Time
	// Sandbox is what confines the process.
	Sandbox string
	// Reach is what it may reach outside of itself.
	Reach []string
	// Memory is what bounds its memory, "" if nothing is to.
	Memory string
	Notes  []string
	// Tried: its first start has come to an end, whatever end.
	Tried bool
}
