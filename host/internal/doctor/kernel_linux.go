// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter/account"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// Kernel looks what this kernel has to confine adapters with.
func Kernel(ctx context.Context) []Check {
	s := sandbox.Probe()
	return []Check{landlock(s), seccomp(s), namespaces(ctx), users(), confinement(s)}
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

// namespaces starts this program once in a user namespace of its own: what may
// forbid it, in the kernel, in a security module or in a container, is too much
// to be read off.
func namespaces(ctx context.Context) Check {
	const name = "user namespaces"
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", "version")
	cmd.Args[0] = os.Args[0]
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	if err := cmd.Run(); err != nil {
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			err = errno
		}
		return Warned(name, "they are needed by sandbox: strict only, which is not built yet", "not available: %v", err)
	}
	return Passed(name, "available")
}
