//go:build !linux

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import "os"

// await waits for the process.
func (p *Process) await() (*os.ProcessState, error) {
	state, err := p.cmd.Process.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reaped = true
	return state, err
}
