// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package postgres

import "syscall"

// unprivileged says as whom PostgreSQL runs: as the user of the test.
func unprivileged(string) *syscall.SysProcAttr { return nil }
