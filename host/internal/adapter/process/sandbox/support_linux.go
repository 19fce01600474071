// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// Here: this system can confine plugins.
const Here = true

// Probe asks the kernel, once.
func Probe() Support { return probe() }

var probe = sync.OnceValue(func() Support {
	var s Support
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch errno {
	case 0:
		s.Landlock = int(abi)
	case unix.ENOSYS:
		s.WhyNoLandlock = "this kernel, or the container, does not know it; a kernel of 5.13 or newer does"
	case unix.EOPNOTSUPP:
		s.WhyNoLandlock = "the kernel knows it, and it is not enabled; add it to lsm= of the kernel's command line"
	default:
		s.WhyNoLandlock = errno.Error()
	}
	// A filter at address 0 is EFAULT where filters are known, and nothing is
	// installed.
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, 0, 0, 0); errors.Is(err, unix.EFAULT) {
		s.Seccomp = true
	} else {
		s.WhyNoSeccomp = "a kernel with CONFIG_SECCOMP_FILTER has it"
		if err != nil {
			s.WhyNoSeccomp += ": " + err.Error()
		}
	}
	return s
})
