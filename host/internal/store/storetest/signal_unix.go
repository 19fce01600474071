// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package storetest

import (
	"os"
	"syscall"
)

// stop holds a process up until resume.
func stop(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
