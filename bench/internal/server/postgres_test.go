// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/bench/internal/proc"
)

func postgresOrSkip(t *testing.T) string {
	t.Helper()
	bin, err := postgresPrograms()
	switch {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatal(err)
	default:
		t.Skip("SKIPPED: PostgreSQL is not installed (Debian: postgresql)")
	}
	return bin
}

// anybodys makes temporary files go to a directory that other users can reach:
// t.TempDir has a parent that they cannot pass.
func anybodys(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bench-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	return dir
}

func TestStartPostgresServesWhatTheScriptSaysAndLeavesNothing(t *testing.T) {
	bin := postgresOrSkip(t)
	dir := anybodys(t)
	s, err := StartPostgres(t.Context(), []byte("CREATE TABLE berths (id int); INSERT INTO berths VALUES (41), (42); GRANT SELECT ON berths TO agent;\n"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(bin+"/psql", "-X", "-A", "-t", "postgres://"+PostgresRole+"@"+s.Address+"/"+PostgresDatabase, "-c", "SELECT max(id) FROM berths").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "42" {
		t.Errorf("%v: %s", err, out)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if tree := proc.Tree(os.Getpid()); len(tree) > 1 {
		t.Errorf("left behind: %v", tree[1:])
	}
}

func TestStartPostgresWithAScriptThatFailsSaysWhyAndLeavesNothing(t *testing.T) {
	postgresOrSkip(t)
	dir := anybodys(t)
	if _, err := StartPostgres(t.Context(), []byte("CREATE THE TABLE;\n")); err == nil || !strings.Contains(err.Error(), "syntax error") {
		t.Errorf("error is %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
