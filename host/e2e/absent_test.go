// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// absent skips a test for want of something of another language; where CI is
// set, the test fails instead, so that nobody takes a skipped test for a green
// one.
func absent(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s; `make test` sets it up", what)
	}
	t.Skipf("SKIPPED: %s; `make test` sets it up", what)
}

// node returns the Node.js to run something with that needs a package installed
// in dir.
func node(t *testing.T, dir, pkg string) string {
	t.Helper()
	path, err := exec.LookPath("node")
	if err != nil {
		absent(t, "Node.js is not installed")
	}
	absentUnless(t, dir, pkg)
	return path
}

// absentUnless is absent if a package is not installed in dir.
func absentUnless(t *testing.T, dir, pkg string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "node_modules", pkg)); err != nil {
		absent(t, "the packages of "+dir+" are not installed")
	}
}
