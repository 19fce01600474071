//go:build !linux

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import "os"

// Adopt does nothing here: what a process leaves behind cannot be adopted.
func Adopt() error { return nil }

// Conceal does nothing here.
func Conceal() error { return nil }

// Guarded knows nothing of other processes here.
func Guarded(int) error { return nil }

// pid is the process's.
func (p *Process) pid() int { return p.cmd.Process.Pid }

// ended is said by the process's own state.
func (p *Process) ended() string { return "" }

// await waits for the process.
func (p *Process) await() (*os.ProcessState, error) {
	state, err := p.cmd.Process.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
	return state, err
}
