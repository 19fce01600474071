// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Namespaces are the flags of clone(2) for what a process under a strict policy has of
// its own.
const Namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS

// Capabilities are what the first process in them takes along: to mount, to make the
// plugin the user that it is to be, to give up the rest for good, and to end it all.
func Capabilities() []uintptr {
	return []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_KILL}
}

// Isolate leaves this process, the first one of its namespaces, and all that it will
// start, its user and group, with nobody else beside them, and a root directory in which
// there is what the policy's rules lead to, and nothing else. It takes all of that, or
// fails: the process is of no use then.
func (p *Policy) Isolate() error {
	if err := p.identify(); err != nil {
		return fmt.Errorf("sandbox: user namespace: %w", err)
	}
	if err := p.settle(); err != nil {
		return fmt.Errorf("sandbox: mount namespace: %w", err)
	}
	return nil
}

// identify maps the user and the group of this process to what they are outside, unless
// that was done by a host that is root. The kernel lets a process map itself as long as
// it may be traced: the host may not be, nor what it has forked and not yet executed.
func (p *Policy) identify() error {
	if p.HostUser == 0 {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		return err
	}
	for _, m := range [][2]string{
		{"uid_map", fmt.Sprintf("%d %[1]d 1", p.HostUser)},
		{"setgroups", "deny"}, // without which nobody may map a group
		{"gid_map", fmt.Sprintf("%d %[1]d 1", p.HostGroup)},
	} {
		if err := os.WriteFile("/proc/self/"+m[0], []byte(m[1]), 0); err != nil {
			return err
		}
	}
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// settle enters the new root, and in it the directory that this process is in.
func (p *Policy) settle() error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	r, err := newRoot()
	if err != nil {
		return err
	}
	defer r.close()
	if err := r.furnish(p, dir); err != nil {
		return err
	}
	if err := r.enter(); err != nil {
		return fmt.Errorf("the new root: %w", err)
	}
	return os.Chdir(dir)
}
