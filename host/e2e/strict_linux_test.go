// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process"
)

// strict says loudly where a machine cannot confine adapters strictly.
func strict(t *testing.T) {
	t.Helper()
	if err := process.Strict(t.Context()); err != nil {
		t.Skipf("SKIPPED: this machine has no sandbox: strict: %v", err)
	}
}
