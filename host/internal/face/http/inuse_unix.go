//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"errors"
	"syscall"
)

func inUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }
