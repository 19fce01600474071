//go:build !linux

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package account

import "errors"

// Reach is not known here.
func (a *Account) Reach([]Need) error { return errors.ErrUnsupported }

// Possible says that there are none here.
func Possible() error { return ErrNotRoot }
