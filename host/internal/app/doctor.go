// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/catalog"
	"github.com/toolwharf/toolwharf/host/internal/adapter/plugin"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/doctor"
	"github.com/toolwharf/toolwharf/host/internal/face/control"
	"github.com/toolwharf/toolwharf/host/internal/fault"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/secret"
	"github.com/toolwharf/toolwharf/host/internal/store/spool"
)

// glanceRows are the newest rows of the ledger that are looked at.
const glanceRows = 1000

// Diagnosis is what a look at a configuration and its machine has found.
type Diagnosis struct {
	// Healthy: no check failed.
	Healthy bool           `json:"healthy"`
	Checks  []doctor.Check `json:"checks"`
	// Misconfigured: the configuration is one of those that failed.
	Misconfigured bool `json:"-"`
}

func (d *Diagnosis) add(checks ...doctor.Check) {
	for _, c := range checks {
		d.Healthy = d.Healthy && c.State != doctor.Fail
	}
	d.Checks = append(d.Checks, checks...)
}

// Diagnose looks at a configuration, its machine, its store and its host, if one
// runs. A check that fails spares no other.
func Diagnose(ctx context.Context, file string) *Diagnosis {
	d := &Diagnosis{Healthy: true}
	cfg, faults := config.Load(file)
	d.configuration(file, cfg, faults)
	d.Misconfigured = !d.Healthy
	state := config.StateOf(file)
	d.add(doctor.StateDirectory(state), doctor.Disk(state, spool.Free, spool.DefaultFloor))
	there := &config.Config{State: state}
	d.add(doctor.Private("ledger key", LedgerKeyPath(there)), doctor.Private("digest key", DigestKeyPath(there)))
	d.store(ctx, there)
	d.host(ctx, state, cfg)
	d.add(doctor.OpenFiles())
	d.add(doctor.Kernel(ctx)...)
	return d
}

func (d *Diagnosis) configuration(file string, cfg *config.Config, faults fault.List) {
	const name = "config"
	for _, f := range faults.Errors() {
		d.add(doctor.Failed(name, "correct it; `toolwharf config schema` says what can stand there", "%s", f))
	}
	for _, f := range faults.Warnings() {
		d.add(doctor.Warned(name, "", "%s", f))
	}
	if cfg == nil {
		return
	}
	if err := checkTrust(cfg.File); err != nil {
		d.add(doctor.Failed(name, "take the right to write it from all others", "%v", err))
		return
	}
	d.add(doctor.Passed(name, "%s is valid: %d adapters", file, len(cfg.Adapters)))
}

// store looks whether the store opens, whether its newest rows are what was
// signed, and whether the clock has not gone back behind them.
func (d *Diagnosis) store(ctx context.Context, c *config.Config) {
	const name = "store"
	now, newest := time.Now(), time.Time{}
	defer func() { d.add(doctor.Clock(now, newest)) }()
	reader, err := OpenLedger(ctx, c)
	if errors.Is(err, fs.ErrNotExist) {
		d.add(doctor.Passed(name, "%s is not there yet; the first start makes it", StorePath(c)))
		return
	}
	if err != nil {
		d.add(doctor.Failed(name, "put back a copy, or move it away and let the next start make a new one", "%v", err))
		return
	}
	defer func() { _ = reader.Close() }()
	rows, err := reader.Newest(ctx)
	for row, failed := range reader.Rows(ctx, ledger.Query{Last: 1}) {
		newest, err = row.Ended, errors.Join(err, failed)
	}
	if err != nil {
		d.add(doctor.Failed(name, "put back a copy", "%v", err))
		return
	}
	keys, err := LedgerVerifier(c, nil)
	if err == nil {
		err = ledger.Glance(ctx, reader, keys, rows-glanceRows)
	}
	if err != nil {
		d.add(doctor.Failed(name, "`toolwharf ledger verify` says all that is wrong; docs/ledger.md says what it means", "%v", err))
		return
	}
	d.add(doctor.Passed(name, "it opens, and its newest %d rows are what was signed", min(rows, glanceRows)))
}

// host looks at the running host, or, if there is none, at what it would find.
func (d *Diagnosis) host(ctx context.Context, state string, cfg *config.Config) {
	const name = "host"
	if cfg != nil {
		d.directories(ctx, cfg)
	}
	client, err := control.Dial(state)
	if errors.Is(err, control.ErrNoHost) {
		d.add(doctor.Passed(name, "none runs for this configuration"))
		if cfg != nil {
			d.atRest(ctx, cfg)
		}
		return
	}
	var host *control.Host
	var moored []control.Adapter
	if err == nil {
		host, err = client.Host(ctx)
	}
	if err == nil {
		moored, err = client.Adapters(ctx)
	}
	if err != nil {
		d.add(doctor.Failed(name, "restart it", "it does not answer: %v", err))
		return
	}
	d.add(doctor.Passed(name, "process %d serves %s since %s", host.PID, host.Serves, host.Started.Format(time.RFC3339)))
	if r := host.Reload; r != nil {
		d.reload(r)
	}
	for _, a := range moored {
		d.moored(a)
	}
}

func (d *Diagnosis) reload(r *control.Reload) {
	const name = "reload"
	for _, f := range r.Refused.Errors() {
		d.add(doctor.Failed(name, "correct the file: it is taken over by itself", "refused, the configuration before serves on: %s", f))
	}
	if len(r.Restart) > 0 {
		d.add(doctor.Warned(name, "restart the host", "%s", needsRestart(r.Restart)))
	}
	if len(r.Refused.Errors())+len(r.Restart) == 0 {
		d.add(doctor.Passed(name, "the newest file holds since %s", r.At.Format(time.RFC3339)))
	}
}

func (d *Diagnosis) moored(a control.Adapter) {
	name := "adapter " + a.Name
	if a.Sandbox == plugin.UnconfinedOff {
		d.add(doctor.Warned(name, "remove sandbox: off; sandbox.allow gives it what it needs", "its process runs without a sandbox"))
	}
	if strings.Contains(a.Memory, "not held") {
		d.add(doctor.Warned(name, "let the service manager delegate a cgroup to the host (docs/isolation.md)", "memory: %s", a.Memory))
	}
	switch state := adapter.State(a.State); {
	case state == adapter.Ready && a.Cause == "":
		d.add(doctor.Passed(name, "ready, process %d, %d tools; sandbox: %s", a.PID, a.Tools, a.Sandbox))
	case state == adapter.Ready, state == adapter.Starting, state == adapter.Draining:
		d.add(doctor.Warned(name, "`toolwharf adapters show "+a.Name+"` says more", "%s: %s", a.State, a.Cause))
	default:
		d.add(doctor.Failed(name, "`toolwharf adapters show "+a.Name+"` says more", "%s: %s", a.State, a.Cause))
	}
}

// directories looks whether what lies in the plugin directories may be run.
func (d *Diagnosis) directories(ctx context.Context, cfg *config.Config) {
	const name = "plugins"
	dirs := directories(cfg)
	for _, dir := range dirs {
		if err := catalog.Trusted(dir.Path); errors.Is(err, fs.ErrNotExist) {
			d.add(doctor.Passed(name, "%s is not there", dir.Path)) // that of the built-in ones; others are faults of the file
		} else if err != nil {
			d.add(doctor.Failed(name, "nothing in it is started before that", "%v", err))
		} else {
			d.add(doctor.Passed(name, "%s and all above it can be changed by the host's user and root only", dir.Path))
		}
	}
	for _, n := range catalog.Scan(ctx, dirs).Notes {
		if !isDirectory(n, dirs) { // said already
			d.add(doctor.Warned(name, "", "%s", n))
		}
	}
}

// isDirectory reports whether a note is about a directory as a whole.
func isDirectory(note string, dirs []catalog.Directory) bool {
	for _, dir := range dirs {
		if strings.HasPrefix(note, dir.Path+" ") {
			return true
		}
	}
	return false
}

// atRest looks what an adapter would need to start.
func (d *Diagnosis) atRest(ctx context.Context, cfg *config.Config) {
	found := catalog.Scan(ctx, directories(cfg))
	for _, a := range cfg.Adapters {
		name := "adapter " + a.Name
		p, ok := found.Find(a.Plugin)
		if !ok {
			var dirs []string
			for _, dir := range directories(cfg) {
				dirs = append(dirs, dir.Path)
			}
			d.add(doctor.Failed(name, "put it into one of them, or name another",
				"there is no plugin %s in %s", a.Plugin, strings.Join(dirs, ", ")))
			continue
		}
		if lacks := missingSecrets(a, cfg.Dir); len(lacks) > 0 {
			d.add(doctor.Failed(name, "set it, for the host too", "secret missing: %s", strings.Join(lacks, ", ")))
			continue
		}
		d.add(doctor.Passed(name, "its plugin is %s; whether it starts is seen by `toolwharf adapters list`", filepath.Clean(p.Path)))
	}
}

// missingSecrets are the references of an adapter that lead nowhere.
func missingSecrets(a config.Adapter, dir string) []string {
	var lacks []string
	values := []any{a.Config}
	for _, v := range a.Env {
		values = append(values, v)
	}
	for _, v := range values {
		_, missing, _, err := secret.ExpandTree(v, secret.System{Dir: dir})
		for _, m := range missing {
			lacks = append(lacks, m.String())
		}
		if err != nil {
			lacks = append(lacks, fmt.Sprint(err))
		}
	}
	return lacks
}
