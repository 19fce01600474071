// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package storetest

import (
	"errors"
	"os"
)

// stop is not possible here.
func stop(*os.Process) error { return errors.ErrUnsupported }

func resume(*os.Process) error { return errors.ErrUnsupported }
