// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// MaxAsked is how many grants one plugin may ask for.
const MaxAsked = 256

// Guarded is something that the host lives by. No plugin may write it.
type Guarded struct {
	// What it is, as a person says it.
	What string
	Path string
	// Secret: no plugin may read it either.
	Secret bool
}

// Given is what a plugin may reach.
type Given struct {
	Rules []sandbox.Rule
	// Connect are host:port, Ports and Names what a port by itself comes to.
	Connect []string
	Ports   []uint16
	Names   bool
	// Said are they in words, sorted.
	Said []string
}

// Judge decides. It is safe for concurrent use.
type Judge struct {
	guarded atomic.Pointer[[]Guarded]
}

// NewJudge returns one that guards something.
func NewJudge(guarded []Guarded) *Judge {
	j := &Judge{}
	j.Guard(guarded)
	return j
}

// Guard guards something else from now on.
func (j *Judge) Guard(guarded []Guarded) { j.guarded.Store(&guarded) }

// Secrets are what no plugin may read, resolved.
func (j *Judge) Secrets() []string {
	var paths []string
	for _, x := range *j.guarded.Load() {
		if x.Secret {
			paths = append(paths, resolve(x.Path))
		}
	}
	return paths
}

// Give returns what a plugin may reach that asks for something: all of it, and
// what the operator allows beyond, or an error that says what it may not have and
// why.
func (j *Judge) Give(d *adapter.Desired, asked []adapter.Grant) (*Given, error) {
	named, given := values(d), &Given{}
	var refused []string
	for _, g := range asked {
		if why := j.judge(d, named, g, given); why != "" {
			refused = append(refused, fmt.Sprintf("it asks to %s %s: %s", g.Kind, g.Value, why))
		}
	}
	for _, g := range d.Sandbox.Allow {
		if why := j.give(d, g, resolve(absolute(d.Dir, g.Value)), given); why != "" {
			refused = append(refused, fmt.Sprintf("sandbox.allow lets it %s %s: %s", g.Kind, g.Value, why))
		}
	}
	if len(refused) > 0 {
		return nil, fmt.Errorf("sandbox: %s", strings.Join(adapter.Few(refused), "; "))
	}
	slices.Sort(given.Said)
	given.Said = slices.Compact(given.Said)
	slices.Sort(given.Ports)
	given.Ports = slices.Compact(given.Ports)
	return given, nil
}

// judge gives what was asked for, if it may be given, or says why not.
func (j *Judge) judge(d *adapter.Desired, named *named, g adapter.Grant, given *Given) (why string) {
	var path string
	var known bool
	switch g.Kind {
	case adapter.GrantRead, adapter.GrantWrite:
		if !filepath.IsAbs(g.Value) {
			return "the path is not absolute"
		}
		path, known = named.path(g.Value)
	case adapter.GrantConnect:
		known = named.address(g.Value)
	default:
		return "there is no such grant"
	}
	for _, a := range d.Sandbox.Allow {
		if known {
			break
		}
		path, known = covers(d.Dir, a, g)
	}
	if !known {
		return fmt.Sprintf("its configuration does not name that; if it is to, list it under adapters.%s.sandbox.allow.%s", d.Name, g.Kind)
	}
	return j.give(d, g, path, given)
}

// give gives what leads to a path, or is no path, unless the host lives by it.
func (j *Judge) give(d *adapter.Desired, g adapter.Grant, path string, given *Given) (why string) {
	said := string(g.Kind) + " " + g.Value
	if g.Kind == adapter.GrantConnect {
		host, port, ok := hostPort(g.Value)
		if !ok {
			return "that is not host:port"
		}
		given.Connect, given.Ports = append(given.Connect, g.Value), append(given.Ports, port)
		if _, err := netip.ParseAddr(host); err != nil {
			given.Names = true
		}
		given.Said = append(given.Said, said)
		return ""
	}
	access := sandbox.Read
	if g.Kind == adapter.GrantWrite {
		access = sandbox.Write
	}
	for _, x := range *j.guarded.Load() {
		guarded := resolve(x.Path)
		if !beneath(path, guarded) && !beneath(guarded, path) {
			continue
		}
		if access == sandbox.Write || x.Secret {
			return fmt.Sprintf("that is, or holds, %s (%s), which no plugin may %s", x.What, x.Path, g.Kind)
		}
	}
	rule := sandbox.Rule{Path: path, Access: access}
	if named := absolute(d.Dir, g.Value); named != path {
		rule.Named = named
	}
	given.Rules = append(given.Rules, rule)
	given.Said = append(given.Said, said)
	return ""
}

// covers reports whether an operator's grant includes another, and where that
// leads.
func covers(dir string, allowed, asked adapter.Grant) (real string, ok bool) {
	if allowed.Kind == adapter.GrantConnect || asked.Kind == adapter.GrantConnect {
		return "", allowed.Kind == asked.Kind && strings.EqualFold(allowed.Value, asked.Value)
	}
	if asked.Kind == adapter.GrantWrite && allowed.Kind != adapter.GrantWrite {
		return "", false
	}
	return within(asked.Value, absolute(dir, allowed.Value))
}

// hostPort splits an address.
func hostPort(s string) (host string, port uint16, ok bool) {
	host, text, err := net.SplitHostPort(s)
	if err != nil || host == "" || strings.ContainsAny(host, " \t\r\n/") {
		return "", 0, false
	}
	n, err := strconv.ParseUint(text, 10, 16)
	return strings.ToLower(host), uint16(n), err == nil && n > 0
}

func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// beneath reports whether path is dir or lies in it.
func beneath(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}

// resolve follows the symbolic links of a path as far as it is there.
func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolve(parent), filepath.Base(path))
}
