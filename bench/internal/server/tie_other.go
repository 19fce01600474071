// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package server

import "os/exec"

// tieToThread does nothing here: no such tie exists.
func tieToThread(*exec.Cmd) (release func()) { return func() {} }

// unprivileged does nothing here: who is root is told so by the command.
func unprivileged(*exec.Cmd, string) error { return nil }
