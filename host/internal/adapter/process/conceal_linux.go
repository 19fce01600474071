// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/guardian"
)

// Conceal keeps other processes of the same user from tracing this one and from
// reading its memory and its environment. Like Adopt, it is for a process that is
// the host's own.
func Conceal() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("not dumpable: %w", err)
	}
	return nil
}

// generations is how many ancestors of a process are looked at.
const generations = 64

// Guarded reports, as an error, that a process belongs to a plugin, of this host or
// of another. Whatever a plugin starts descends from its guardian or, when that was
// killed, from the process that has adopted what is left.
func Guarded(pid int) error {
	adopted := 0
	if kin.adopting() {
		adopted = os.Getpid()
	}
	for at, n := pid, 0; at > 1 && n < generations; n++ {
		if at != pid && at == adopted || isGuardian(at) {
			return fmt.Errorf("process %d belongs to a plugin", pid)
		}
		parent, ok := guardian.Parent(at)
		if !ok {
			return fmt.Errorf("process %d cannot be seen", pid)
		}
		at = parent
	}
	return nil
}

// isGuardian: its command line cannot be written by others.
func isGuardian(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.HasPrefix(string(line), guardian.Word+"\x00"+guardian.Word+"\x00")
}
