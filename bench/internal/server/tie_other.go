// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package server

import "os/exec"

// tieToThread does nothing here: no such tie exists.
func tieToThread(*exec.Cmd) (release func()) { return func() {} }
