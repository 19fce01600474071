// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter/reconcile"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/face/control"
	"github.com/toolwharf/toolwharf/host/internal/fault"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Why the configuration is read again.
const (
	byChange = "the file changed"
	bySignal = "SIGHUP"
)

// reloads is what became of the configuration since the start.
type reloads struct {
	// These belong to the one goroutine of followConfig.
	holds *config.Config    // what holds now
	rules *rules.Transition // what judges now
	sum   [sha256.Size]byte // of the file that was judged last

	mu     sync.Mutex
	newest *control.Reload // nil: there was none
}

// tell says what became of the newest file.
func (r *reloads) tell(refused fault.List, restart []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(refused) > 0 && r.newest != nil {
		restart = r.newest.Restart // of the file that holds
	}
	r.newest = &control.Reload{At: time.Now(), Refused: refused, Restart: restart}
}

func (r *reloads) told() *control.Reload {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.newest
}

// followConfig reads the configuration again when its file changes or a signal
// comes, until ctx ends. told hears of what holds from then on.
func (h *Host) followConfig(ctx context.Context, told func(*config.Config)) {
	if h.config.File == "" {
		return
	}
	files := make(chan judged)
	go func() {
		for f, faults := range config.Changes(ctx, h.config.File, h.config.Sum, h.log) {
			select {
			case files <- judged{f, faults}:
			case <-ctx.Done():
			}
		}
	}()
	for {
		select {
		case j := <-files:
			h.reload(ctx, byChange, j.file, j.faults, told)
		case <-h.hangup:
			f, faults := config.Open(h.config.File)
			h.reload(ctx, bySignal, f, faults, told)
		case <-ctx.Done():
			return
		}
	}
}

// judged is a file, or why there is none.
type judged struct {
	file   *config.File
	faults fault.List
}

// reload takes a file over, or refuses it as a whole.
func (h *Host) reload(ctx context.Context, why string, f *config.File, faults fault.List, told func(*config.Config)) {
	began := time.Now()
	if why == byChange && f.Sum() == h.reloads.sum {
		return // it was judged when the signal came
	}
	h.reloads.sum = f.Sum()
	r, policy, err := h.judge(f, faults)
	if err != nil {
		list := asFaults(h.config.File, err)
		h.reloads.tell(list, nil)
		for _, one := range list.Sorted() {
			h.log.Error("configuration not reloaded, the one before serves on", "why", why, "fault", one.String())
		}
		h.record(ctx, began, ledger.Row{Outcome: ledger.Refused, Code: "config_refused", Detail: why + "; " + places(list)})
		return
	}
	h.reloads.holds, h.reloads.rules = r.Config, policy.rules
	h.confinement.Judge.Guard(guarded(r.Config, h.runDir.path))
	h.reconciler.Want(reconcile.Wish{Adapters: adapters(r.Config), Dirs: directories(r.Config)},
		func() { h.executor.SetPolicy(policy.Policy) })
	h.answers.Resize(r.Config.Limits.Cache)
	told(r.Config)
	h.reloads.tell(nil, r.Restart)
	row := ledger.Row{
		Outcome: ledger.OK, Detail: why + "; changed: " + listed(r.Changed),
		Args: h.vault.keyer.Digest(tool.Digest(r.Config.Sum)),
	}
	h.log.Info("configuration reloaded", "why", why, "changed", listed(r.Changed))
	if len(r.Restart) > 0 {
		row.Code = "restart_needed"
		row.Detail += "; " + needsRestart(r.Restart)
		h.log.Warn("configuration: " + needsRestart(r.Restart))
	}
	h.record(ctx, began, row)
}

// judge checks everything of a file that can be checked before it holds.
func (h *Host) judge(f *config.File, faults fault.List) (r config.Reload, p policy, err error) {
	if f == nil {
		return r, p, faults
	}
	if err := checkTrust(f.Path); err != nil {
		return r, p, err
	}
	next, faults := f.Parse()
	for _, w := range faults.Warnings() {
		h.log.Warn("configuration", "fault", w.String())
	}
	if err := faults.Err(); err != nil {
		return r, p, err
	}
	r = h.reloads.holds.Reload(next)
	p, err = h.newPolicy(r.Config, h.earlier())
	return r, p, err
}

// mostEarlier rules are remembered for adapters that are behind.
const mostEarlier = 16

// earlier are the rules under which an adapter that is behind, or will be, may
// have started.
func (h *Host) earlier() []*rules.Rules {
	now := h.reloads.rules
	if !h.reconciler.AnyBehind() {
		return []*rules.Rules{now.Now}
	}
	all := append(slices.Clone(now.Before), now.Now)
	if len(all) > mostEarlier { // the first are those under which it has most likely started
		all = slices.Delete(all, 1, 2)
	}
	return all
}

func asFaults(file string, err error) fault.List {
	if list, ok := errors.AsType[fault.List](err); ok {
		return list
	}
	return fault.List{{File: file, Summary: err.Error()}}
}

// places names keys and lines, and nothing of what stands there: the ledger is
// read by others than the file.
func places(faults fault.List) string {
	out := make([]string, 0, len(faults))
	for _, f := range faults.Errors() {
		f.File, f.Summary, f.Detail = "line", "", ""
		if f.Line == 0 {
			f.File = "the file"
		}
		out = append(out, f.String())
	}
	return fmt.Sprintf("%d faults: %s", len(out), listed(out))
}

// mostListed keys are named in one text.
const mostListed = 50

func listed(keys []string) string {
	switch {
	case len(keys) == 0:
		return "nothing"
	case len(keys) > mostListed:
		return fmt.Sprintf("%s and %d more", strings.Join(keys[:mostListed], ", "), len(keys)-mostListed)
	default:
		return strings.Join(keys, ", ")
	}
}

func needsRestart(keys []string) string {
	return fmt.Sprintf("needs a restart: %s; the old values hold until then", listed(keys))
}

// record writes a reload into the ledger. Whoever could write the file or send
// the signal is the host's own user or root.
func (h *Host) record(ctx context.Context, began time.Time, row ledger.Row) {
	row.Host, row.Started, row.Ended = h.vault.store.Host(), began, time.Now()
	row.Call, row.Op, row.Principal = tool.NewID(ledger.PrefixReload), ledger.OpReload, operator().String()
	if err := h.vault.spool.End(context.WithoutCancel(ctx), executor.Record{Row: row}); err != nil {
		h.log.Error("reload not recorded in the ledger", "error", err)
	}
}

// notes are what the operator is told beside the adapters.
func (h *Host) notes() []string {
	notes := h.reconciler.Notes()
	if r := h.reloads.told(); r != nil {
		notes = append(notes, r.Notes()...)
	}
	return notes
}
