// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/adapter/account"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/cgroup"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// Kernel looks what this kernel has to confine adapters with.
func Kernel(ctx context.Context) []Check {
	s := sandbox.Probe()
	checks := append([]Check{landlock(s), seccomp(s)}, namespaces()...)
	return append(checks, users(), memory(), confinement(s), strict(ctx, s))
}

// memory looks whether the memory of adapters can be limited.
func memory() Check {
	const name = "memory"
	if _, err := cgroup.Look(); err != nil {
		return Passed(name, "limits.memory of an adapter bounds each of its processes, not all of them together: %v", err)
	}
	return Passed(name, "limits.memory of an adapter bounds all of its processes together, by a cgroup")
}

// users looks whether adapters can have users of their own.
func users() Check {
	const name = "users"
	switch err := account.Possible(); {
	case err == nil:
		return Passed(name, "each adapter has a user of its own, of %d to %d, where that user reaches what it needs", account.First, account.Last)
	case errors.Is(err, account.ErrNotRoot):
		return Passed(name, "adapters run as the host's user; a host of root gives each its own")
	default:
		return Warned(name, "give the host what it lacks, or run it as a user that is not root", "adapters run as root, without capabilities: %v", err)
	}
}

func landlock(s sandbox.Support) Check {
	const name = "landlock"
	if s.Landlock == 0 {
		return Warned(name, "use a kernel that has it: without it, nothing holds an adapter to its own files", "not available: %s", s.WhyNoLandlock)
	}
	if untried := s.Untried(); untried != "" {
		return Passed(name, "available, ABI %d; %s", s.Landlock, untried)
	}
	return Passed(name, "available, ABI %d", s.Landlock)
}

func seccomp(s sandbox.Support) Check {
	const name = "seccomp"
	if !s.Seccomp {
		return Warned(name, "use a kernel that has it: without it, an adapter can open any connection", "not available: %s", s.WhyNoSeccomp)
	}
	return Passed(name, "available")
}

// confinement is what it comes to.
func confinement(s sandbox.Support) Check {
	const name = "sandbox"
	policy := sandbox.For(s, nil)
	if missing := policy.Missing(s); len(missing) > 0 {
		return Warned(name, "use a newer kernel, or give the host a container of its own (docs/isolation.md)",
			"auto is %s; not held: %s", policy, strings.Join(missing, ", "))
	}
	return Passed(name, "auto is %s; an adapter that may connect is held to less, which `toolwharf adapters show` says", policy)
}

// namespaces tries each: what may forbid it, in the kernel, in a security module or in a
// container, is too much to be read off.
func namespaces() []Check {
	var checks []Check
	for _, n := range process.Namespaces() {
		name := n.Kind + " namespaces"
		if n.Err != nil {
			checks = append(checks, Warned(name, "allow them if an adapter is to have sandbox: strict (docs/isolation.md)", "not available: %v", n.Err))
			continue
		}
		checks = append(checks, Passed(name, "available"))
	}
	return checks
}

// strict tries all of it at once.
func strict(ctx context.Context, s sandbox.Support) Check {
	const name, do = "sandbox: strict", "nothing, unless an adapter is to have it; then docs/isolation.md says what it takes"
	if missing := sandbox.For(s, nil).Missing(s); len(missing) > 0 {
		return Warned(name, do, "not available: it would not hold %s", strings.Join(missing, ", "))
	}
	if err := process.Strict(ctx); err != nil {
		return Warned(name, do, "not available: %v", err)
	}
	return Passed(name, "available: an adapter that has it sees no files, processes, sockets and networks but its own, and connects through the host")
}
