// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package proc

// Tree knows of no process here.
func Tree(int) []Process { return nil }

// Measure measures nothing here.
func Measure([]Process) (Usage, bool) { return Usage{}, false }

// PSS is not to be had here.
func PSS(...Process) int64 { return 0 }

// Alive knows of no process here.
func Alive([]Process) []Process { return nil }
