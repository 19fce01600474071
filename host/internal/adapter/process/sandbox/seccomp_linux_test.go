// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
)

// A name that a machine does not have is left out of its filter: one that is
// misspelt must not be.
func TestEveryDeniedCallIsOneOfSomeMachine(t *testing.T) {
	machines := map[string]*arch.Info{}
	for _, name := range []string{"amd64", "arm64", "386"} {
		m, err := arch.GetInfo(name)
		if err != nil {
			t.Fatal(err)
		}
		machines[name] = m
	}
	has := func(machine, name string) bool { _, ok := machines[machine].SyscallNames[name]; return ok }
	for _, name := range denied {
		if !has("amd64", name) && !has("arm64", name) && !has("386", name) {
			t.Errorf("no machine has %s", name)
		}
	}
	for _, name := range []string{
		"socket", "socketpair", "connect", "sendto", "sendmsg", "sendmmsg", "clone", "clone3", "ptrace", "mount", "unshare", "setns", "bpf",
		"prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr", "setpriority", "ioprio_set", "shmget", "mq_open",
		"io_uring_setup", "userfaultfd", "keyctl", "personality", "process_vm_readv", "open_by_handle_at", "pidfd_getfd",
	} {
		for _, machine := range []string{"amd64", "arm64"} {
			if !has(machine, name) {
				t.Errorf("%s does not have %s", machine, name)
			}
		}
	}
}
