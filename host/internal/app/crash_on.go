//go:build crashpoints

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter/life"
	"github.com/toolwharf/toolwharf/host/internal/executor"
)

// crashPoint kills this process, as kill -9 would, or stops it once, as kill
// -STOP would, when a call reaches the point that the environment names.
func crashPoint() func(executor.Point) {
	kill, stop := executor.Point(os.Getenv("CRASH_AT")), executor.Point(os.Getenv("STOP_AT"))
	var once sync.Once
	return func(p executor.Point) {
		switch p {
		case kill:
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // it takes a moment
		case stop:
			once.Do(func() {
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
				time.Sleep(200 * time.Millisecond) // it takes a moment, in which nothing is to happen
			})
		}
	}
}

// lease is short, so that tests see what happens after it.
func lease() time.Duration { return time.Second }

// pulse is fast, likewise.
func pulse() life.Pulse {
	return life.Pulse{Every: 200 * time.Millisecond, Within: 2 * time.Second, Misses: 2}
}
