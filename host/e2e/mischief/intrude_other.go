//go:build !linux

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "errors"

// attempt knows no way out here.
func attempt(string, []string) error { return errors.New("not tried on this system") }
