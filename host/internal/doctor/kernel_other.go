//go:build !linux

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import "context"

// Kernel knows nothing of other systems.
func Kernel(context.Context) []Check { return nil }
