// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"strings"
)

// Access is what a rule allows.
type Access int

// The kinds of access, to a file or to everything beneath a directory.
const (
	Read    Access = iota + 1
	Execute        // and read
	Device         // read and write what is there, never make anything
	Write          // read, write, make, rename and remove
	Own            // the same, and sockets
)

// Rule allows access to a path. One that leads nowhere allows nothing.
type Rule struct {
	Path   string `json:"path"`
	Access Access `json:"access"`
	// Named is another name of Path, by symbolic links that the process has to
	// find too; "": there is none.
	Named string `json:"named,omitempty"`
}

// Policy is everything that a process may do.
type Policy struct {
	// Landlock is the version of its interface that is demanded; 0: it is not
	// used, and any file may be opened.
	Landlock int `json:"landlock,omitempty"`
	// Seccomp demands the filter of system calls.
	Seccomp bool   `json:"seccomp,omitempty"`
	Rules   []Rule `json:"rules,omitempty"`
	// Ports that it may connect to by TCP; none: it may not connect at all, to
	// nothing.
	Ports []uint16 `json:"ports,omitempty"`
	// User is the user that it runs as, and its only group; 0: whoever the host is.
	User int `json:"user,omitempty"`
	// Names: it may resolve names. That takes UDP, which Landlock cannot hold
	// to a port.
	Names bool `json:"names,omitempty"`
	// Strict demands namespaces, see [Policy.Isolate]. Then there is no network.
	Strict bool `json:"strict,omitempty"`
	// HostUser and HostGroup are who the host is, which the guardian is too.
	HostUser  int `json:"host_user,omitempty"`
	HostGroup int `json:"host_group,omitempty"`
	// Hidden are directories that the process is not to see where the rules lead
	// past them.
	Hidden []string `json:"hidden,omitempty"`
	// Connects lets it connect to unix sockets.
	Connects bool `json:"connects,omitempty"`
}

// MaxTasks are the processes and threads of a process that is counted by itself, and
// of all that it starts.
const MaxTasks = 1024

// Versions of Landlock that brought something.
const (
	abiRefer    = 2
	abiTruncate = 3
	abiPorts    = 4
	abiDevices  = 5
	abiScopes   = 6
	abiSockets  = 9 // not used: see newest

	// newest is what was tried out. A newer kernel speaks it too, and what it has
	// beyond is not taken, nor said to hold.
	newest = 7
)

// For is a policy that takes as much as the kernel gives.
func For(s Support, rules []Rule) *Policy {
	return &Policy{Landlock: min(s.Landlock, newest), Seccomp: s.Seccomp, Rules: rules}
}

// String is what confines a process under the policy.
func (p *Policy) String() string {
	var parts []string
	if p.Strict {
		parts = append(parts, "strict: own user, mount, pid, network, ipc and uts namespaces")
	}
	if p.Landlock > 0 {
		parts = append(parts, fmt.Sprintf("landlock %d", p.Landlock))
	}
	if p.Seccomp {
		parts = append(parts, "seccomp")
	}
	parts = append(parts, "no new privileges", "no capabilities", "limits")
	if p.User != 0 {
		parts = append(parts, fmt.Sprintf("user %d of its own", p.User))
	}
	return strings.Join(parts, ", ")
}

// Missing are the things that nothing holds under the policy, each with its
// reason.
func (p *Policy) Missing(s Support) []string {
	var missing []string
	add := func(what, why string) { missing = append(missing, what+" ("+why+")") }
	older := func(abi int) string {
		if abi > newest {
			return fmt.Sprintf("it takes landlock %d, of which at most %d is used", abi, newest)
		}
		return fmt.Sprintf("this kernel has landlock %d, it takes %d", p.Landlock, abi)
	}
	switch {
	case p.Landlock == 0:
		add("files, signals and the memory of other processes", "landlock: "+s.WhyNoLandlock)
	case p.Landlock < abiTruncate:
		add("cutting files off that it may not write", older(abiTruncate))
	}
	if !p.Seccomp {
		add("system calls and sockets", "seccomp: "+s.WhyNoSeccomp)
	}
	if p.Landlock > 0 && p.Landlock < abiScopes {
		add("signals to other processes", older(abiScopes))
	}
	if len(p.Ports) == 0 {
		return missing
	}
	if p.Landlock < abiPorts {
		add("the ports that it connects to", older(abiPorts))
	}
	if p.Landlock < abiScopes {
		add("abstract unix sockets", older(abiScopes))
	}
	add("the hosts that it connects to", "landlock knows ports only")
	if p.Names {
		add("UDP", "it resolves names by it")
	}
	add("unix sockets that its user may open", older(abiSockets))
	return missing
}
