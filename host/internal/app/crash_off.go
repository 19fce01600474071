//go:build !crashpoints

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"time"

	"github.com/toolwharf/toolwharf/host/internal/adapter/life"
	"github.com/toolwharf/toolwharf/host/internal/executor"
)

// crashPoint is for tests that are built with the tag crashpoints.
func crashPoint() func(executor.Point) { return nil }

// lease is the store's own.
func lease() time.Duration { return 0 }

// pulse is the lives' own.
func pulse() life.Pulse { return life.Pulse{} }
