// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights of Landlock. Those of a file make no sense for a directory's entries.
const (
	readFile = unix.LANDLOCK_ACCESS_FS_READ_FILE
	readDir  = unix.LANDLOCK_ACCESS_FS_READ_DIR
	execFile = unix.LANDLOCK_ACCESS_FS_EXECUTE
	edit     = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	arrange  = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_REFER
	sockets = unix.LANDLOCK_ACCESS_FS_MAKE_SOCK
	others  = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	ofFiles = readFile | execFile | edit | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

func (a Access) rights() uint64 {
	switch a {
	case Read:
		return readFile | readDir
	case Execute:
		return readFile | readDir | execFile
	case Device:
		return readFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	case Write:
		return readFile | readDir | edit | arrange
	case Own:
		return readFile | readDir | edit | arrange | sockets
	default:
		return 0
	}
}

// known are the rights on files that a version knows.
func known(abi int) uint64 {
	all := uint64(readFile | readDir | execFile | edit | arrange | sockets | others)
	for since, right := range map[int]uint64{
		abiRefer: unix.LANDLOCK_ACCESS_FS_REFER, abiTruncate: unix.LANDLOCK_ACCESS_FS_TRUNCATE,
		abiDevices: unix.LANDLOCK_ACCESS_FS_IOCTL_DEV,
	} {
		if abi < since {
			all &^= right
		}
	}
	return all
}

// landlock holds files, ports, signals and the memory of others to the rules, for
// the calling thread only.
func (p *Policy) landlock() error {
	if p.Landlock == 0 {
		return nil
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: known(p.Landlock)}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if p.Landlock >= abiPorts {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		size += unsafe.Sizeof(attr.Handled_access_net)
	}
	if p.Landlock >= abiScopes {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size += unsafe.Sizeof(attr.Scoped)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0) //nolint:gosec // the kernel's own form
	if errno != 0 {
		return errno
	}
	ruleset := int(fd)
	defer func() { _ = unix.Close(ruleset) }()
	for _, r := range p.Rules {
		if err := allow(ruleset, r, attr.Handled_access_fs); err != nil {
			return fmt.Errorf("%s: %w", r.Path, err)
		}
	}
	if p.Landlock >= abiPorts {
		for _, port := range p.Ports {
			if err := allowPort(ruleset, port); err != nil {
				return err
			}
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// allow adds a rule. A path is taken as it was resolved by whoever has judged it:
// one that has become a symbolic link since leads nowhere.
func allow(ruleset int, r Rule, known uint64) error {
	fd, err := unix.Openat2(unix.AT_FDCWD, r.Path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	rights := r.Access.rights() & known
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= ofFiles
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)} //nolint:gosec // a file descriptor
	return add(ruleset, unix.LANDLOCK_RULE_PATH_BENEATH, unsafe.Pointer(&attr))        //nolint:gosec // the kernel's own form
}

// ruleNetPort is LANDLOCK_RULE_NET_PORT, netPort its struct: x/sys has neither.
const ruleNetPort = 2

type netPort struct{ access, port uint64 }

func allowPort(ruleset int, port uint16) error {
	attr := netPort{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)}
	return add(ruleset, ruleNetPort, unsafe.Pointer(&attr)) //nolint:gosec // the kernel's own form
}

func add(ruleset int, kind uintptr, attr unsafe.Pointer) error {
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), kind, uintptr(attr), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
