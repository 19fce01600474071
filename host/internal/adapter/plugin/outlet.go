// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/egress"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// EgressVariable names the way out of a process that has no network.
const EgressVariable = "TOOLWHARF_EGRESS"

// outlet is the way out of one process, which is open as long as it runs.
type outlet struct {
	path    string
	close   func() error
	process atomic.Pointer[process.Process] // nil: not started
}

// open opens a way out to what was granted. Its socket lies where the process sees
// nothing else.
func (l *Launcher) open(c *cage, d *adapter.Desired, grants []string) error {
	if !c.policy.Strict || len(grants) == 0 {
		return nil
	}
	o := &outlet{path: c.home + ".egress"}
	gate, err := egress.Listen(egress.Config{
		Path: o.path, Grants: grants, Peer: o.isProcess, Own: l.Own, Private: d.Sandbox.Private, Log: l.Log.Named(d.Name),
	})
	if err != nil {
		return err
	}
	c.outlet = o
	l.traffic.opened(d.Name, gate)
	o.close = func() error {
		defer l.traffic.closed(d.Name, gate)
		return gate.Close()
	}
	c.policy.Connects = true
	c.policy.Rules = append(c.policy.Rules, sandbox.Rule{Path: o.path, Access: sandbox.Read})
	return c.give(o.path)
}

// isProcess reports, as an error, that somebody else has come in.
func (o *outlet) isProcess(conn *net.UnixConn) error {
	p := o.process.Load()
	if p == nil {
		return errors.New("nobody was started who could be there")
	}
	return p.Owns(conn)
}

// Egress is what has gone out of an adapter's processes since the host was started;
// there is nothing to say of one that never had a way out.
func (l *Launcher) Egress(adapter string) (c egress.Counts, there bool) { return l.traffic.of(adapter) }

// traffic counts what goes through the gates of all adapters.
type traffic struct {
	mu sync.Mutex
	by map[string]*gates
}

// gates are those of one adapter: more than one while its processes are swapped.
type gates struct {
	open map[*egress.Gate]bool
	past egress.Counts // of those that were closed
}

func (t *traffic) opened(adapter string, g *egress.Gate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.by == nil {
		t.by = map[string]*gates{}
	}
	if t.by[adapter] == nil {
		t.by[adapter] = &gates{open: map[*egress.Gate]bool{}}
	}
	t.by[adapter].open[g] = true
}

// closed keeps what a gate has counted.
func (t *traffic) closed(adapter string, g *egress.Gate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.by[adapter]
	delete(all.open, g)
	all.past = sum(all.past, g.Counts())
}

func (t *traffic) of(adapter string) (c egress.Counts, there bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.by[adapter]
	if all == nil {
		return c, false
	}
	c = all.past
	for g := range all.open {
		c = sum(c, g.Counts())
	}
	return c, true
}

func sum(a, b egress.Counts) egress.Counts {
	return egress.Counts{
		Open: a.Open + b.Open, Opened: a.Opened + b.Opened, Refused: a.Refused + b.Refused, Failed: a.Failed + b.Failed,
		Sent: a.Sent + b.Sent, Received: a.Received + b.Received,
	}
}
