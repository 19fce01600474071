// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/guardian"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// own is the policy of a process that this one starts.
func own(policy *sandbox.Policy) *sandbox.Policy {
	p := *policy
	p.HostUser, p.HostGroup = os.Geteuid(), os.Getegid()
	return &p
}

// isolate starts a guardian as the first process of namespaces: what it has not ended
// when it ends, the kernel does. Who is in them is mapped from here by root; whoever is
// not root may not look into what it forks while it may not be traced itself, and so the
// guardian maps itself.
func isolate(attr *syscall.SysProcAttr, p *sandbox.Policy) {
	attr.Cloneflags, attr.AmbientCaps = sandbox.Namespaces, sandbox.Capabilities()
	if p.HostUser != 0 {
		return
	}
	itself := func(ids ...int) (m []syscall.SysProcIDMap) {
		for _, id := range slices.Compact(ids) {
			m = append(m, syscall.SysProcIDMap{ContainerID: id, HostID: id, Size: 1})
		}
		return m
	}
	attr.UidMappings, attr.GidMappings = itself(0, p.User), itself(p.HostGroup, cmp.Or(p.User, p.HostGroup))
	attr.GidMappingsEnableSetgroups = p.User != 0 // who becomes it, leaves the host's groups
}

// answer is the guardian's first line. Who it speaks of, the kernel has put into this
// process's words.
func (l *leash) answer() (line string, who int, err error) {
	if !l.isolated {
		line, err = l.lines.ReadString('\n')
		return line, 0, err
	}
	text, credentials := make([]byte, 4096), make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	n, oobn, _, _, err := l.control.ReadMsgUnix(text, credentials)
	if err != nil {
		return "", 0, err
	}
	messages, err := unix.ParseSocketControlMessage(credentials[:oobn])
	for _, m := range messages {
		var c *unix.Ucred
		if c, err = unix.ParseUnixCredentials(&m); err == nil {
			who = int(c.Pid)
		}
	}
	return string(text[:n]), who, err
}

// Namespace is a kind of namespace, and why this process can start nothing in one of its
// own.
type Namespace struct {
	Kind string
	Err  error
}

// Namespaces tries those that a strict sandbox takes, each by itself.
func Namespaces() []Namespace {
	kinds := []struct {
		name string
		flag uintptr
	}{{"user", 0}, {"mount", unix.CLONE_NEWNS}, {"pid", unix.CLONE_NEWPID}, {"network", unix.CLONE_NEWNET}}
	all := make([]Namespace, 0, len(kinds))
	for _, k := range kinds {
		cmd := exec.Command("/proc/self/exe", guardian.Word, "") // which finds no host, and ends
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | k.flag}
		err := cmd.Start()
		if err == nil {
			_ = cmd.Wait()
		}
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			err = errno
		}
		all = append(all, Namespace{k.name, err})
	}
	return all
}

// Strict tries a strict sandbox, in which it executes nothing, and returns why it cannot
// be had.
func Strict(ctx context.Context) error {
	policy := sandbox.For(sandbox.Probe(), nil)
	policy.Strict = true
	err := New(Spec{Path: "/nothing", Dir: "/", Sandbox: policy}).Start(ctx)
	if errors.Is(err, fs.ErrNotExist) { // it has come to the point where it would have been
		return nil
	}
	return err
}

// unisolated is why a guardian was not started in namespaces, if that is what failed.
func unisolated(err error) error {
	for _, n := range Namespaces() {
		if n.Err != nil {
			return unavailable("sandbox: " + n.Kind + " namespace: " + n.Err.Error())
		}
	}
	return err
}

// unavailable is a strict sandbox that cannot be had, and what to do about it.
func unavailable(why string) error {
	for _, s := range []struct{ file, forbids, said string }{
		{"user/max_user_namespaces", "0", "sysctl user.max_user_namespaces is 0"},
		{"kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone is 0"},
		{"kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor lets only programs with a profile have them"},
	} {
		if text, err := os.ReadFile("/proc/sys/" + s.file); err == nil && strings.TrimSpace(string(text)) == s.forbids {
			why += " (" + s.said + ")"
		}
	}
	return &ConfinementError{Reason: why + "; docs/isolation.md says what sandbox: strict takes, and sandbox: auto takes what there is"}
}
