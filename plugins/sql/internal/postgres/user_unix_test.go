// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package postgres

import (
	"os"
	"syscall"
)

// unprivileged says as whom PostgreSQL runs, and gives dir to that user.
func unprivileged(dir string) *syscall.SysProcAttr {
	if os.Getuid() != 0 {
		return nil
	}
	_ = os.Chown(dir, somebody, somebody)
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: somebody, Gid: somebody}}
}
