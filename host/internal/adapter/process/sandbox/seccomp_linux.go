// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// denied are system calls that no plugin needs and that have been ways out of
// sandboxes, or would be one out of this. Those that a machine does not have are
// left out there.
var denied = []string{
	// Memory and secrets of other processes. Landlock denies it too, but not
	// between those of one adapter, nor where there is none.
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
	// Other views of the file system.
	"mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount", "fspick",
	"mount_setattr", "open_by_handle_at", "name_to_handle_at", "quotactl", "quotactl_fd", "fanotify_init",
	// Namespaces. clone is looked at below, clone3 cannot be.
	"unshare", "setns",
	// Large parts of the kernel that are asked for nothing else.
	"bpf", "io_uring_setup", "io_uring_enter", "io_uring_register", "userfaultfd", "perf_event_open",
	// Memory, messages and semaphores that all processes of a user share: no file
	// system, so no Landlock, is between them.
	"shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop", "semctl", "ipc", "mq_open", "mq_unlink",
	"add_key", "request_key", "keyctl", "personality", "modify_ldt", "vm86", "vm86old",
	// The machine.
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module", "reboot", "swapon", "swapoff",
	"settimeofday", "clock_settime", "clock_settime64", "clock_adjtime", "adjtimex", "stime", "sethostname", "setdomainname", "acct", "syslog",
	"iopl", "ioperm", "nfsservctl", "lookup_dcookie", "vhangup", "uselib", "ustat", "sysfs", "_sysctl",
	"mbind", "migrate_pages", "move_pages", "set_mempolicy", "set_mempolicy_home_node",
}

// Classes of ioprio_set that stand for one process.
const ioprioProcess = 1

// onlyItself are calls that change how another process runs: its limits, one of which
// ends it, its pace, its processors. The kernel lets every process of a user do so to
// all others of that user, and Landlock too. They are left where they name nobody,
// which is the caller.
var onlyItself = []seccomp.NameWithConditions{
	when("prlimit64", condition(0, seccomp.NotEqual, 0), condition(2, seccomp.NotEqual, 0)), // others' limits may be read
	when("sched_setaffinity", condition(0, seccomp.NotEqual, 0)),
	when("sched_setscheduler", condition(0, seccomp.NotEqual, 0)),
	when("sched_setparam", condition(0, seccomp.NotEqual, 0)),
	when("sched_setattr", condition(0, seccomp.NotEqual, 0)),
	when("setpriority", condition(0, seccomp.NotEqual, unix.PRIO_PROCESS)),
	when("setpriority", condition(1, seccomp.NotEqual, 0)),
	when("ioprio_set", condition(0, seccomp.NotEqual, ioprioProcess)),
	when("ioprio_set", condition(1, seccomp.NotEqual, 0)),
}

// Flags of clone that make namespaces.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME

// Bits of the second argument of socket and socketpair: of all types, a stream has
// the first of them only.
const (
	notStream   = 0xe
	datagramBit = 0x2
	streamBit   = 0x1
	notInternet = 0xc // what is neither a stream nor a datagram nor raw
)

// condition is shorter to write than the library's.
func condition(argument uint32, op seccomp.Operation, value uint64) seccomp.Condition {
	return seccomp.Condition{Argument: argument, Operation: op, Value: value}
}

func when(name string, c ...seccomp.Condition) seccomp.NameWithConditions {
	return seccomp.NameWithConditions{Name: name, Conditions: c}
}

// sockets are the ways to sockets that are denied. The kernel looks at the lower 32
// bits of a number, a filter at all 64: what is allowed is compared, never what
// is denied.
func (p *Policy) sockets() []seccomp.NameWithConditions {
	const domain, kind, protocol, flags = 0, 1, 2, 3
	deny := []seccomp.NameWithConditions{
		when("socketpair", condition(domain, seccomp.NotEqual, unix.AF_UNIX)),
		// A datagram could be sent to any socket that has a path.
		when("socketpair", condition(kind, seccomp.BitsSet, notStream)),
	}
	if len(p.Ports) == 0 {
		return append(deny,
			when("socket", condition(domain, seccomp.NotEqual, unix.AF_UNIX)),
			when("socket", condition(kind, seccomp.BitsSet, notStream)),
		)
	}
	isUnix, notUnix := condition(domain, seccomp.Equal, unix.AF_UNIX), condition(domain, seccomp.NotEqual, unix.AF_UNIX)
	notNetlink := condition(domain, seccomp.NotEqual, unix.AF_NETLINK)
	families := []seccomp.Condition{notUnix, condition(domain, seccomp.NotEqual, unix.AF_INET), condition(domain, seccomp.NotEqual, unix.AF_INET6)}
	if p.Names { // getaddrinfo asks for the machine's addresses by netlink
		families = append(families, notNetlink)
	}
	deny = append(deny,
		when("socket", families...),
		when("socket", isUnix, condition(kind, seccomp.BitsSet, notStream)),
		when("socket", notNetlink, condition(kind, seccomp.BitsSet, notInternet)),
		when("socket", notNetlink, condition(kind, seccomp.BitsSet, datagramBit), condition(kind, seccomp.BitsSet, streamBit)), // raw
		// MPTCP is a way round Landlock's ports, and there are others.
		when("socket", notNetlink, notUnix, condition(protocol, seccomp.NotEqual, 0),
			condition(protocol, seccomp.NotEqual, unix.IPPROTO_TCP), condition(protocol, seccomp.NotEqual, unix.IPPROTO_UDP)),
		when("socket", condition(domain, seccomp.Equal, unix.AF_NETLINK), condition(protocol, seccomp.NotEqual, unix.NETLINK_ROUTE)),
		// So is a connection that is opened by its first bytes.
		when("sendto", condition(flags, seccomp.BitsSet, unix.MSG_FASTOPEN)),
		when("sendmsg", condition(kind+1, seccomp.BitsSet, unix.MSG_FASTOPEN)),
		when("sendmmsg", condition(flags, seccomp.BitsSet, unix.MSG_FASTOPEN)),
	)
	if !p.Names {
		deny = append(deny, when("socket", notNetlink, condition(kind, seccomp.BitsSet, datagramBit)))
	}
	return deny
}

// filter is the policy as the kernel takes it.
func (p *Policy) filter() ([]unix.SockFilter, error) {
	machine, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	has := func(name string) bool { _, ok := machine.SyscallNames[name]; return ok }
	var names []string
	for _, name := range denied {
		if has(name) {
			names = append(names, name)
		}
	}
	conditional := append(p.sockets(), onlyItself...)
	conditional = append(conditional, when("clone", condition(0, seccomp.BitsSet, namespaces)))
	if len(p.Ports) == 0 {
		if !p.Connects {
			names = append(names, "connect")
		}
		conditional = append(conditional, when("sendto", condition(4, seccomp.NotEqual, 0)))
	}
	policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: []seccomp.SyscallGroup{
		// A program takes clone where there is no clone3, whose flags lie in memory.
		{Names: []string{"clone3"}, Action: seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)},
		{Names: names, Action: seccomp.ActionErrno | seccomp.Action(unix.EPERM)},
		{NamesWithCondtions: conditional, Action: seccomp.ActionErrno | seccomp.Action(unix.EPERM)},
	}}
	instructions, err := policy.Assemble()
	if err != nil {
		return nil, err
	}
	// The library lets other architectures pass, whose calls have other numbers.
	const architecture = 4 // its offset in struct seccomp_data
	raw, err := bpf.Assemble(append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: architecture, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(machine.ID), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(seccomp.ActionKillProcess)},
	}, instructions...))
	if err != nil {
		return nil, err
	}
	out := make([]unix.SockFilter, 0, len(raw))
	for _, i := range raw {
		out = append(out, unix.SockFilter{Code: i.Op, Jt: i.Jt, Jf: i.Jf, K: i.K})
	}
	return out, nil
}

// seccomp installs the filter, for the calling thread only.
func (p *Policy) seccomp() error {
	if !p.Seccomp {
		return nil
	}
	filter, err := p.filter()
	if err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}                                           //nolint:gosec // some hundred
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))) //nolint:gosec // the kernel's own form
	if errno != 0 {
		return fmt.Errorf("%w", errno)
	}
	return nil
}
