// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLooked bounds how many files are looked at for one start.
const maxLooked = 10_000

// Reach reports, as an error, the first thing that the account may not do of what
// it needs. The kernel is asked, as that user: it knows of access lists, of file
// systems that are read-only, and of directories above. What is not there need not
// be reached.
func (a *Account) Reach(needs []Need) error {
	answer := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == os.Getpid() { // the first thread stands for the process, and never ends
			answer <- a.Reach(needs)
			runtime.UnlockOSThread()
			return
		}
		// Its credentials go with the thread: it is not given back.
		err := disguise(a.ID)
		for looked := 0; err == nil && len(needs) > 0; needs = needs[1:] {
			err = needs[0].met(&looked)
		}
		answer <- err
	}()
	return <-answer
}

// disguise lets the calling thread meet files as a user does, and only files: were
// it that user's altogether, the user's processes could end it, and the host with
// it. The raw calls are for one thread, those of package syscall for all.
func disguise(id int) error {
	dumpable, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	if err != nil {
		return err
	}
	for _, c := range []struct{ call, a, b uintptr }{
		{unix.SYS_SETGROUPS, 0, 0}, {unix.SYS_SETFSGID, uintptr(id), 0}, {unix.SYS_SETFSUID, uintptr(id), 0},
	} {
		if _, _, errno := unix.RawSyscall(c.call, c.a, c.b, 0); c.call == unix.SYS_SETGROUPS && errno != 0 {
			return errno // the others return who it was before
		}
	}
	header, none := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	if err := unix.Capset(&header, &none[0]); err != nil {
		return err
	}
	if now, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, ^uintptr(0), 0, 0); int(now) != id {
		return fmt.Errorf("user %d cannot be taken on", id)
	}
	if dumpable == 1 { // the change has taken it from the whole process
		return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	}
	return nil
}

// met reports, as an error, what keeps the thread from the need.
func (n Need) met(looked *int) error {
	if !n.Beneath {
		return n.may(n.Path)
	}
	return filepath.WalkDir(n.Path, func(path string, d os.DirEntry, err error) error {
		if *looked++; *looked > maxLooked {
			return fmt.Errorf("%s and what else it needs are more than %d files, too many to look at each", n.Path, maxLooked)
		}
		if errors.Is(err, os.ErrNotExist) { // it went meanwhile, or was never there
			return nil
		}
		if err == nil && d != nil && !d.IsDir() && !d.Type().IsRegular() && path != n.Path {
			return nil // a link leads to what is looked at by itself, or nowhere
		}
		return n.may(path)
	})
}

// may asks for one path.
func (n Need) may(path string) error {
	var stat unix.Stat_t
	switch err := unix.Stat(path, &stat); {
	case errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	}
	mode, ways := uint32(unix.R_OK), []string{"read"}
	if n.Enter {
		mode, ways = unix.X_OK, []string{"entered"}
	}
	if n.Write {
		mode, ways = mode|unix.W_OK, append(ways, "written")
	}
	switch {
	case stat.Mode&unix.S_IFMT == unix.S_IFDIR:
		mode |= unix.X_OK
	case n.Execute && path == n.Path:
		mode, ways = mode|unix.X_OK, append(ways, "executed")
	}
	if err := unix.Faccessat2(unix.AT_FDCWD, path, mode, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("%s may not be %s by others: %w", path, strings.Join(ways, " and "), err)
	}
	return nil
}
