// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package guardian

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// Order is what the host wants of a guardian, which it is told first, as a line of
// JSON.
type Order struct {
	// Sandbox confines the plugin; nil: nothing does.
	Sandbox *sandbox.Policy `json:"sandbox,omitempty"`
	// Memory is the most private memory of each process, in bytes; 0: any.
	Memory int64 `json:"memory,omitempty"`
	// Program is the SHA-256 of what is executed, in hex; "": whatever lies there.
	Program string `json:"program,omitempty"`
}

// MaxOrder bounds an order.
const MaxOrder = 256 << 10

// hear reads the order.
func hear() (*Order, error) {
	var line []byte
	for b := make([]byte, 4096); len(line) < MaxOrder; {
		n, err := unix.Read(control, b)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if n <= 0 {
			return nil, errors.Join(io.ErrUnexpectedEOF, err)
		}
		if line = append(line, b[:n]...); line[len(line)-1] == '\n' {
			o := &Order{}
			return o, json.Unmarshal(line, o)
		}
	}
	return nil, errors.New("it is too long")
}

// program opens what is to be executed, if it has to be a certain one, and hashes
// what it has opened: from there it is executed, whatever becomes of the path. A
// script is opened again by its interpreter, by its path.
func (o *Order) program(path string) (f *os.File, err error) {
	if o.Program == "" {
		return nil, nil //nolint:nilnil // any will do
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f = os.NewFile(uintptr(fd), path)
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if now := hex.EncodeToString(sum.Sum(nil)); now != o.Program {
		return nil, fmt.Errorf("%s is not what was pinned: its SHA-256 is %s and was %s; somebody has changed it since the host looked at it", path, now, o.Program)
	}
	return f, nil
}

// executable is the path by which what was opened is executed.
func executable(path string, f *os.File) string {
	if f == nil {
		return path
	}
	start := make([]byte, 2)
	if _, err := f.ReadAt(start, 0); err != nil || string(start) == "#!" {
		return path
	}
	opened := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	if _, err := os.Stat(opened); err != nil { // there is no /proc
		return path
	}
	return opened
}

// bounded bounds the plugin from a thread that is the plugin's user, which may do so,
// and not in its sandbox, where nobody may.
func (o *Order) bounded(plugin int) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // its credentials go with the thread
		var err error
		if o.Sandbox != nil && o.Memory != 0 {
			err = o.Sandbox.Become()
		}
		if err == nil {
			err = o.bound(plugin)
		}
		done <- err
	}()
	return <-done
}

// bound limits what the plugin, and each process that it starts, has of memory. It
// runs already: what is against leaks comes early enough, and a limit of this process
// instead, which the plugin would inherit, would be one of the guardian too.
func (o *Order) bound(plugin int) error {
	if o.Memory == 0 {
		return nil
	}
	most := &unix.Rlimit{Cur: uint64(o.Memory), Max: uint64(o.Memory)} //nolint:gosec // positive
	err := unix.Prlimit(plugin, unix.RLIMIT_DATA, most, nil)
	if errors.Is(err, unix.ESRCH) { // it has ended
		return nil
	}
	return err
}
