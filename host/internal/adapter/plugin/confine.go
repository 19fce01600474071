// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/account"
	"github.com/toolwharf/toolwharf/host/internal/adapter/grant"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/profile"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
	"github.com/toolwharf/toolwharf/host/internal/pin"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Confinement is what plugins are confined by.
type Confinement struct {
	// Support is what this machine gives.
	Support sandbox.Support
	// Judge decides what plugins may reach, Memory what they asked for before, by
	// digests that are keyed with Key.
	Judge  *grant.Judge
	Memory *grant.Memory
	Key    []byte
	// Accounts has users for adapters; nil: there are none, WhyNoAccounts says why.
	Accounts      *account.Book
	WhyNoAccounts string
}

// What is said of a process that nothing confines.
const (
	unconfinedHere = "none"
	UnconfinedOff  = "off" // since the operator wants it so
)

// confined reports whether d's process is to be confined, or what is said of it
// otherwise.
func (l *Launcher) confined(d *adapter.Desired) (said string, yes bool) {
	switch {
	case l.Confinement == nil || !sandbox.Here:
		return unconfinedHere, false
	case d.Sandbox.Off:
		return UnconfinedOff, false
	default:
		return "", true
	}
}

// lax is why a strict sandbox cannot be had, as far as it is known before the start.
func (l *Launcher) lax(confined bool) string {
	const do = "; use sandbox: auto, which takes what there is, or a machine that has it (docs/isolation.md)"
	if !confined {
		return "sandbox: strict: this system has no sandbox" + do
	}
	s := l.Confinement.Support
	if missing := sandbox.For(s, nil).Missing(s); len(missing) > 0 {
		return "sandbox: strict: not to be held here: " + strings.Join(missing, ", ") + do
	}
	return ""
}

// ready starts what lies at a path, confines it to what it may reach, and
// configures it.
func (l *Launcher) ready(ctx context.Context, d *adapter.Desired, at string, program tool.Digest) (*instance, error) {
	said, confined := l.confined(d)
	if d.Sandbox.Strict {
		if why := l.lax(confined); why != "" {
			return nil, &adapter.StartError{Phase: adapter.PhaseLaunch, Refused: true, Reason: why}
		}
	}
	if !confined {
		if said == UnconfinedOff {
			l.Log.Warn("adapter runs without a sandbox: its configuration says so", "adapter", d.Name)
		}
		in, err := l.described(ctx, d, at, nil)
		if err == nil {
			in.about.Sandbox = said
			err = in.configured(ctx, d, l.MaxResult)
		}
		return in, err
	}
	key := d.Origin(l.Confinement.Key, program)
	asked, known := l.Confinement.Memory.Asked(key)
	var bare *instance
	if !known {
		var err error
		if bare, err = l.described(ctx, d, at, &grant.Given{}); err != nil {
			return bare, err
		}
		var sound bool
		asked, sound = bare.asks(ctx, d, l.MaxResult)
		if sound {
			if err := l.Confinement.Memory.Remember(key, asked); err != nil {
				l.Log.Warn("what an adapter asks to reach was not remembered: its next start takes a little longer", "adapter", d.Name, "error", err)
			}
		}
	}
	given, err := l.Confinement.Judge.Give(d, asked)
	if err != nil {
		return bare, &adapter.StartError{Phase: adapter.PhaseConfigure, Refused: true, Reason: err.Error()}
	}
	in := bare
	if bare == nil || len(given.Said) > 0 || bare.process.Exit() != "" {
		if bare != nil {
			bare.abandon(ctx)
		}
		if in, err = l.described(ctx, d, at, given); err != nil {
			return in, err
		}
	}
	err = in.configured(ctx, d, l.MaxResult)
	if refused, ok := err.(*adapter.StartError); ok && len(given.Said) == 0 { //nolint:errorlint // it is what configured returns
		refused.Reason += "; it runs in a sandbox and asked for nothing outside of it (docs/isolation.md)"
	}
	return in, err
}

// described starts a process and asks what it is. given is what it may reach; nil:
// anything. The instance, if there is one, is to be drained on error too.
func (l *Launcher) described(ctx context.Context, d *adapter.Desired, at string, given *grant.Given) (*instance, error) {
	argv := d.Program.Argv(at)
	var c *cage
	var err error
	if given != nil {
		if c, err = l.cage(d, at, argv[0], given); err != nil {
			return nil, &adapter.StartError{Phase: adapter.PhaseLaunch, Reason: "cannot be executed: " + cause(err), Err: err}
		}
		if err := l.open(c, d, given.Connect); err != nil {
			c.remove()
			return nil, &adapter.StartError{Phase: adapter.PhaseConfigure, Refused: true, Reason: "sandbox: " + err.Error(), Err: err}
		}
	}
	cacheDir, err := l.cacheDir(d.Name, c)
	if err != nil { // it can do without
		l.Log.Warn("no cache directory", "adapter", d.Name, "error", err)
		cacheDir = ""
	}
	m, err := l.memory(d)
	if err != nil {
		if c != nil {
			c.remove()
		}
		return nil, startError(adapter.PhaseLaunch, err)
	}
	proc, client, conn, err := l.launch(ctx, d, argv, c, m)
	if err != nil {
		return nil, err
	}
	in := &instance{
		name: d.Name, process: proc, client: client, conn: conn,
		log: l.Log.Named(d.Name), redact: l.redacted, updated: l.Updated,
		passPrincipal: d.PassPrincipal, cacheDir: cacheDir,
	}
	if err := in.describe(ctx, d); err != nil {
		return in, err
	}
	in.about.Memory = m.said
	if c != nil {
		in.about.Sandbox = c.said(l.Confinement.Support)
		for _, said := range given.Said {
			in.about.Reach = append(in.about.Reach, l.redacted(d.Name, said))
		}
	}
	return in, nil
}

// cage is what one process is confined to.
type cage struct {
	policy *sandbox.Policy
	// home is its own directory, tmp one within it; both are there as long as it.
	home, tmp string
	// account is its own user; nil: it has the host's, whyHost says why if that is
	// not so for all.
	account *account.Account
	whyHost string
	// outlet is its way out; nil: it has none, or needs none.
	outlet *outlet
	log    hclog.Logger
}

// cage makes a cage for a program.
func (l *Launcher) cage(d *adapter.Desired, at, path string, given *grant.Given) (*cage, error) {
	p := profile.Program{Path: path, Env: environ(d.Env)}
	if d.Program.Command != nil {
		p.Folder = at
	}
	rules, err := profile.Rules(p)
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp(l.RunDir, "home-")
	if err != nil {
		return nil, err
	}
	c := &cage{home: home, log: l.Log}
	c.policy = sandbox.For(l.Confinement.Support, append(slices.Clone(rules), given.Rules...))
	c.policy.Ports, c.policy.Names = given.Ports, given.Names
	if d.Sandbox.Strict {
		c.policy.Strict, c.policy.Ports, c.policy.Names = true, nil, false
		c.policy.Hidden = l.Confinement.Judge.Secrets()
	}
	c.settle(l.Confinement, d.Name, needs(l.RunDir, rules, given.Rules))
	if c.home, err = filepath.EvalSymlinks(home); err == nil {
		c.tmp = filepath.Join(c.home, "tmp")
		err = errors.Join(os.Mkdir(c.tmp, 0o700), c.give(c.tmp), c.own(c.home))
	}
	if err != nil {
		c.remove()
		return nil, err
	}
	return c, nil
}

func environ(vars map[string]string) []string {
	env := make([]string, 0, len(vars))
	for name, value := range vars {
		env = append(env, name+"="+value)
	}
	return env
}

// own lets the process do as it likes in a directory that the host has made for it.
func (c *cage) own(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	rule := sandbox.Rule{Path: real, Access: sandbox.Own}
	if real != dir {
		rule.Named = dir
	}
	c.policy.Rules = append(c.policy.Rules, rule)
	return c.give(real)
}

// environment is what tells the process of its way out and, unless the adapter's own
// variables do, of its directories.
func (c *cage) environment(d *adapter.Desired, program string) []string {
	var env []string
	if c.outlet != nil {
		env = append(env, EgressVariable+"="+c.outlet.path)
	}
	dirs := map[string]string{"HOME": c.home, "TMPDIR": c.tmp}
	for _, name := range []string{"HOME", "TMPDIR"} {
		if own, set := d.Env[name]; set {
			dirs[name] = own
			continue
		}
		env = append(env, name+"="+dirs[name])
	}
	if isJava(program) {
		env = append(env, javaOptions(dirs["HOME"], dirs["TMPDIR"], d.Limits.Memory))
	}
	return env
}

// remove removes its directories, once nothing runs in it any more.
func (c *cage) remove() {
	defer c.account.Release()
	if c.outlet != nil {
		if err := c.outlet.close(); err != nil {
			c.log.Warn("the way out of an adapter was not closed", "error", err)
		}
	}
	if err := pin.Remove(c.home); err != nil {
		c.log.Warn("the private directory of an adapter was not removed", "error", err)
	}
}

// said is what confines the process, and what does not.
func (c *cage) said(s sandbox.Support) string {
	said := c.policy.String()
	if c.outlet != nil {
		said += ", connects through the host only"
	}
	if c.account == nil {
		said += ", the host's user"
		if c.whyHost != "" {
			said += " (" + c.whyHost + ")"
		}
	}
	if missing := c.policy.Missing(s); len(missing) > 0 {
		said += "; not held: " + strings.Join(missing, ", ")
	}
	return said
}
