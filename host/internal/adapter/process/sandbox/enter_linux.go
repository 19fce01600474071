// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Bounds of one process.
const (
	maxOpenFiles = 4096
	maxFileSize  = 4 << 30
)

// Enter puts the calling thread, which is locked to its goroutine, under the
// policy; what the thread executes stays there. The limits are those of the whole
// process. It takes all of the policy or fails: the thread is of no use then.
func (p *Policy) Enter() error {
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"limits", p.limit},
		{"capabilities", boundCapabilities},
		{"user", p.Become},
		{"capabilities", dropCapabilities},
		{"no new privileges", func() error { return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }},
		{"landlock", p.landlock},
		{"seccomp", p.seccomp}, // last: it forbids the others
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("sandbox: %s: %w", step.name, err)
		}
	}
	return nil
}

// limit bounds what one process takes. There is no bound of address space, of
// which runtimes reserve far more than they use. That of processes counts
// everything that a user runs, so it takes a user of its own.
func (p *Policy) limit() error {
	limits := map[int]uint64{
		unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: maxOpenFiles, unix.RLIMIT_FSIZE: maxFileSize,
	}
	if p.User != 0 {
		limits[unix.RLIMIT_NPROC] = MaxTasks
	}
	for resource, most := range limits {
		var now unix.Rlimit
		if err := unix.Getrlimit(resource, &now); err != nil {
			return err
		}
		most = min(most, now.Max)
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	return nil
}

// Bits of PR_SET_SECUREBITS, see capabilities(7): root is nobody special, and that
// stays so.
const (
	secNoRoot            = 1 << 0
	secNoRootLocked      = 1 << 1
	secNoSetuidFix       = 1 << 2
	secNoSetuidFixLocked = 1 << 3
	secKeepCapsLocked    = 1 << 5
	secNoAmbient         = 1 << 6
	secNoAmbientLocked   = 1 << 7
	secureBits           = secNoRoot | secNoRootLocked | secNoSetuidFix | secNoSetuidFixLocked | secKeepCapsLocked | secNoAmbient | secNoAmbientLocked
	capabilitySetpcap    = 8
	lastCapability       = 63
	capabilityVersion3   = 0x20080522
	capabilitySetsOfBits = 2
)

// boundCapabilities gives up the ways to any capability that the thread has not.
func boundCapabilities() error {
	header := unix.CapUserHeader{Version: capabilityVersion3}
	var sets [capabilitySetsOfBits]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return err
	}
	if sets[0].Effective&(1<<capabilitySetpcap) == 0 {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, secureBits, 0, 0, 0); err != nil {
		return err
	}
	for c := range uintptr(lastCapability + 1) {
		if unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) != nil {
			break // EINVAL: the kernel has no more of them
		}
	}
	return nil //nolint:nilerr // see above
}

// dropCapabilities gives up every capability.
func dropCapabilities() error {
	header := unix.CapUserHeader{Version: capabilityVersion3}
	var none [capabilitySetsOfBits]unix.CapUserData
	return unix.Capset(&header, &none[0])
}
