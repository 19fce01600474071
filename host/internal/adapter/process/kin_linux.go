// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/guardian"
)

// adoption bounds how long strays are looked for.
const adoption = 10 * time.Second

// family are the children of this process: the kernel has one list of them, and
// so has this package.
type family struct {
	mu     sync.Mutex // also held while one is started
	own    map[int]bool
	adopts bool
}

var kin = &family{own: map[int]bool{}}

// Adopt says that this process is the host's own: whatever a guardian leaves
// behind, because it was killed, becomes a child of this process and is ended. A
// program that embeds the host has other children, and does not ask for it. It is
// called before anything is started.
func Adopt() error {
	kin.mu.Lock()
	defer kin.mu.Unlock()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("child subreaper: %w", err)
	}
	for _, child := range guardian.Children() { // of whoever has executed this program
		kin.own[child] = true
	}
	kin.adopts = true
	return nil
}

func (f *family) adopting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.adopts
}

func (f *family) start(cmd *exec.Cmd) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	f.own[cmd.Process.Pid] = true
	return nil
}

// buried: a guardian was waited for. If it has not cleared what it guarded, that
// is ended here.
func (f *family) buried(guard int, cleared bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.own, guard)
	if cleared || !f.adopts {
		return
	}
	for late := time.Now().Add(adoption); time.Now().Before(late); time.Sleep(time.Millisecond) {
		strays := 0
		for _, child := range guardian.Children() {
			if f.own[child] {
				continue
			}
			strays++
			_ = unix.Kill(-child, unix.SIGKILL)
			_ = unix.Kill(child, unix.SIGKILL)
			_, _ = unix.Wait4(child, nil, unix.WNOHANG, nil)
		}
		if strays == 0 {
			return
		}
	}
}
