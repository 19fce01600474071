// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// needed are the capabilities that it takes to start a process as another user, to
// give it its directories, to reach its socket and to end it.
var needed = map[uint]string{
	unix.CAP_CHOWN: "CAP_CHOWN", unix.CAP_DAC_OVERRIDE: "CAP_DAC_OVERRIDE", unix.CAP_FOWNER: "CAP_FOWNER", unix.CAP_KILL: "CAP_KILL",
	unix.CAP_SETGID: "CAP_SETGID", unix.CAP_SETUID: "CAP_SETUID", unix.CAP_SETPCAP: "CAP_SETPCAP",
}

// Possible reports, as an error, why this process can give adapters no users of
// their own.
func Possible() error {
	if os.Geteuid() != 0 {
		return ErrNotRoot
	}
	header, sets := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("its capabilities cannot be seen: %w", err)
	}
	var lacks []string
	for _, c := range []uint{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_KILL, unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_SETPCAP} {
		if sets[0].Effective&(1<<c) == 0 {
			lacks = append(lacks, needed[c])
		}
	}
	if lacks != nil {
		return fmt.Errorf("the host lacks %s", strings.Join(lacks, ", "))
	}
	return mapped()
}

// mapped reports, as an error, that the users are not among those of this user
// namespace, as in a container that was given few.
func mapped() error {
	for _, file := range []string{"/proc/self/uid_map", "/proc/self/gid_map"} {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("the users of this container cannot be seen: %w", err)
		}
		if !covers(string(text), First, Last) {
			return fmt.Errorf("this container has no users %d to %d", First, Last)
		}
	}
	return nil
}

// covers reports whether one line of a map holds a whole range.
func covers(text string, first, last uint64) bool {
	for line := range strings.Lines(text) {
		var inside, outside, count uint64
		if n, _ := fmt.Sscan(line, &inside, &outside, &count); n == 3 && inside <= first && last-inside < count {
			return true
		}
	}
	return false
}
