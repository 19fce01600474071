// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"errors"

	"golang.org/x/sys/windows"
)

func inUse(err error) bool { return errors.Is(err, windows.WSAEADDRINUSE) }
