// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package app puts a host together. It is the only package that knows every
// other.
package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/adapter/logbook"
	"github.com/toolwharf/toolwharf/host/internal/adapter/plugin"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
	"github.com/toolwharf/toolwharf/host/internal/adapter/reconcile"
	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/cache"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/face/control"
	"github.com/toolwharf/toolwharf/host/internal/kept"
	"github.com/toolwharf/toolwharf/host/internal/limit"
	"github.com/toolwharf/toolwharf/host/internal/pin"
	"github.com/toolwharf/toolwharf/host/internal/redact"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/seal"
	"github.com/toolwharf/toolwharf/host/internal/secret"
	"github.com/toolwharf/toolwharf/host/internal/telemetry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
	"github.com/toolwharf/toolwharf/host/internal/webhook"
)

// MaxResult is the largest result given to a client, in bytes.
const MaxResult = 1 << 20

// closeTime bounds the flush of the store at the end.
const closeTime = 10 * time.Second

// Options are what a host is made of.
type Options struct {
	Config *config.Config
	// Version of the host's program.
	Version string
	// Hangup is told to read the configuration again; may be nil.
	Hangup <-chan os.Signal
	Log    hclog.Logger
	// OwnProcess: this process is the host's alone, not that of a program which
	// embeds it. What plugins leave behind becomes its child and is ended, it cannot
	// be traced by others of its user, and the garbage collector is steered.
	OwnProcess bool
}

// Host is one host, with or without faces.
type Host struct {
	config      *config.Config // of the start: what needs a restart is read here
	reloads     reloads
	hangup      <-chan os.Signal
	version     string
	log         hclog.Logger
	started     time.Time
	runDir      *runDir
	vault       *vault
	registry    *registry.Registry
	launcher    *plugin.Launcher
	listening   atomic.Pointer[netip.AddrPort] // nil: nowhere
	executor    *executor.Executor
	redactor    redact.Redactor
	rates       limit.Rates
	sealed      *seal.Sealer // of what travels through clients and browsers
	tried       atomic.Bool  // each adapter was, once
	answers     *cache.Cache
	reconciler  *reconcile.Reconciler
	known       known
	confinement *plugin.Confinement
	kept        *kept.Store
	logbook     *logbook.Book
	approvers   *rules.When
	entrance    entrance // of a host that is reached over HTTP
	ownProcess  bool     // see Options
	embedded    bool     // another program serves its faces
	metrics     *telemetry.Metrics
	access      hclog.Logger      // nil: requests have no lines
	traces      *telemetry.Traces // nil: they are not wanted

	deliverer *webhook.Deliverer

	stop    context.CancelFunc // of the reconciler and of the deliverer
	stopped chan error
	told    chan struct{} // the deliverer has ended
}

// Open prepares a host: state directory, store, executor. Nothing is started
// yet. Close must be called.
func Open(ctx context.Context, o Options) (_ *Host, err error) {
	if err := checkTrust(o.Config.File); err != nil {
		return nil, err
	}
	if o.OwnProcess {
		tune()
		if err := errors.Join(process.Adopt(), process.Conceal()); err != nil {
			return nil, err
		}
	}
	runDir, err := makeRunDir()
	if err != nil {
		return nil, fmt.Errorf("directory for sockets: %w", err)
	}
	h := &Host{
		config: o.Config, reloads: reloads{holds: o.Config, sum: o.Config.Sum}, hangup: o.Hangup, version: o.Version, log: o.Log, started: time.Now(),
		runDir: runDir, registry: registry.New(), kept: kept.New(kept.Default), answers: cache.New(o.Config.Limits.Cache), ownProcess: o.OwnProcess, stopped: make(chan error, 1), told: make(chan struct{}),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	h.metrics = telemetry.NewMetrics(o.Version, h.state)
	if o.Config.Log.Access {
		h.access = o.Log.Named("access")
	}
	if h.traces, err = newTraces(ctx, o); err != nil {
		return nil, err
	}
	id := tool.NewID("host_")
	if h.vault, err = openVault(ctx, o.Config, id, o.Log); err != nil {
		return nil, err
	}
	if h.approvers, err = approvers(o.Config); err != nil {
		return nil, err
	}
	if h.executor, err = h.newExecutor(id); err != nil {
		return nil, err
	}
	if h.deliverer, err = h.newDeliverer(); err != nil {
		return nil, err
	}
	h.known = newKnown(o.Config)
	log := o.Log.Named("adapter")
	h.confinement = confine(o.Config, runDir.path, GrantsPath(o.Config), h.vault.key)
	h.logbook = logbook.New(log, &h.redactor)
	h.launcher = &plugin.Launcher{
		RunDir: runDir.path, MaxResult: int64(kept.Default.Each), Shelf: &pin.Shelf{Dir: runDir.path}, Logs: h.logbook, Redact: h.redactor.Text,
		Updated: h.updated, CacheDir: filepath.Join(o.Config.State, "cache"), Log: log,
		Confinement: h.confinement, Cgroups: cgroups(o.OwnProcess), Own: h.listens,
	}
	h.reconciler = reconcile.New(reconcile.Config{
		Wish: reconcile.Wish{Adapters: adapters(o.Config), Dirs: directories(o.Config)}, Dir: o.Config.Dir, DropIn: dropInLimits,
		Secrets:  secret.System{Dir: o.Config.Dir},
		Launcher: h.launcher,
		Registry: h.registry, Pins: h.known.pins, Specs: h.known.specs, Key: h.vault.key, Tell: h.redactor.Set,
		Pulse: pulse(), Log: log,
	})
	return h, nil
}

// Start starts the adapters, in the background.
func (h *Host) Start(ctx context.Context) {
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	if !sandbox.Here {
		h.log.Warn("adapters run without a sandbox, which this system does not have: they have their own process and secrets, " +
			"but the same user and files as the host")
	} else if s := sandbox.Probe(); !s.Whole() {
		h.log.Warn("this machine cannot confine adapters as it should; `toolwharf doctor` says why", "not_held", sandbox.For(s, nil).Missing(s))
	}
	go h.known.follow(ctx, h.reconciler.Review)
	if issuer := h.entrance.issuer; issuer != nil {
		go issuer.Run(ctx)
	}
	if login := h.entrance.login; login != nil {
		go login.Run(ctx)
	}
	if h.ownProcess {
		go rest(ctx, allocated, debug.FreeOSMemory)
	}
	go func() { h.stopped <- h.reconciler.Run(ctx) }()
	go h.tell(ctx)
}

// AwaitTried returns once each adapter was tried once.
func (h *Host) AwaitTried(ctx context.Context) error {
	return h.reconciler.AwaitTried(ctx)
}

// Close drains the adapters and closes the store.
func (h *Host) Close() error {
	var errs []error
	if h.stop != nil {
		h.stop()
		errs = append(errs, <-h.stopped)
		<-h.told
	}
	if h.vault != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		errs = append(errs, h.vault.close(ctx))
	}
	if h.traces != nil {
		ctx, cancel := context.WithTimeout(context.Background(), tracesTime)
		defer cancel()
		if err := h.traces.Close(ctx); err != nil { // what is lost is no call
			h.log.Warn("not every trace was sent", "error", err)
		}
	}
	h.kept.Close()
	h.entrance.close()
	return errors.Join(append(errs, h.runDir.remove())...)
}

// API is the host as its operator sees it. serves says how clients reach it.
func (h *Host) API(serves string) *control.Service {
	return &control.Service{
		Catalogue: h.registry, Executor: h.executor,
		Operator: operator(), Desk: h.desk(),
		Moored: h.moored, Renew: h.reconciler.Restart, Said: h.said,
		About: func() control.Host {
			return control.Host{
				Name: h.config.Name, Version: h.version, PID: os.Getpid(), Config: h.config.File,
				Serves: serves, Started: h.started, Notes: h.notes(), Reload: h.reloads.told(),
			}
		},
	}
}

// desk is where operators decide.
func (h *Host) desk() *approval.Desk {
	return &approval.Desk{Store: h.vault.store, Self: h.config.Approval.Self, Approvers: h.approvers, Fits: h.executor.Fits}
}

func (h *Host) moored() []control.Adapter {
	statuses := h.reconciler.Status()
	out := make([]control.Adapter, 0, len(statuses))
	for _, s := range statuses {
		out = append(out, control.Adapter{
			Name: s.Name, Plugin: s.Plugin, State: string(s.State), Since: s.Since, Prefix: s.Prefix, Tools: s.Tools,
			Path: s.Path, Version: s.Version, PID: s.PID, Crashes: s.Crashes, Cause: s.Cause, Retry: s.Retry,
			Sandbox: s.Sandbox, Reach: s.Reach, Egress: h.egress(s.Name), Memory: s.Memory, Notes: s.Notes,
		})
	}
	return out
}

// egress is what has gone out of an adapter through the host; nil: it has no such way.
func (h *Host) egress(adapter string) *control.Egress {
	c, there := h.launcher.Egress(adapter)
	if !there {
		return nil
	}
	return &control.Egress{Open: c.Open, Opened: c.Opened, Refused: c.Refused, Failed: c.Failed, Sent: c.Sent, Received: c.Received}
}

// said are the lines of an adapter's log.
func (h *Host) said(ctx context.Context, adapter string, n int, follow bool) iter.Seq[control.LogLine] {
	return func(yield func(control.LogLine) bool) {
		for l := range h.logbook.Lines(ctx, adapter, n, follow) {
			if !yield(control.LogLine{Time: l.Time, Level: l.Level.String(), Message: l.Message, Attributes: l.Attributes}) {
				return
			}
		}
	}
}

// localUser is the name of the user that this process runs as.
func localUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return fmt.Sprintf("uid-%d", os.Getuid())
}
