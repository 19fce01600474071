// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
)

// ServeHTTP is not here yet.
func (h *Host) ServeHTTP(ctx context.Context) error { return errors.New("http") }
