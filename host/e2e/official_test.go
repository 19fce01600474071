// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// node22 returns a Node.js that the official suite runs with: the one that is
// installed beside it, or one that is new enough.
func node22(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath(filepath.Join("official", "node_modules", ".bin", "node")); err == nil {
		path, err = filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	path := node(t, "official", "@modelcontextprotocol")
	out, err := exec.CommandContext(t.Context(), path, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < 22 {
		absent(t, "the official suite needs Node.js 22, and this is "+strings.TrimSpace(string(out)))
	}
	return path
}

// serveFixtures starts a host with the plugin that the official suite expects.
func serveFixtures(t *testing.T) *host {
	t.Helper()
	dir, plugins := workspace(t, "adapters: {fixtures: {plugin: fixtures, prefix: \"\"}}\n")
	install(t, "fixtures", plugins)
	return serve(t, dir)
}

func TestTheOfficialConformanceSuitePasses(t *testing.T) {
	t.Parallel()
	node := node22(t)
	absentUnless(t, "official", "@modelcontextprotocol")
	h := serveFixtures(t)
	for name, k := range map[string]struct {
		args []string
		// passed is the least number of scenarios that pass: a suite that finds
		// nothing to do is content.
		passed int
	}{
		"what 2026-07-28 requires": {[]string{"--requirements", "2026-07-28"}, 35},
		"all of 2026-07-28":        {[]string{"--spec-version", "2026-07-28", "--suite", "all", "--expected-failures", "2026-07-28.yaml"}, 38},
		"all of 2025-11-25":        {[]string{"--spec-version", "2025-11-25", "--suite", "all", "--expected-failures", "2025-11-25.yaml"}, 24},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"node_modules/@modelcontextprotocol/conformance/dist/index.js", "server", "--url", h.url}, k.args...)
			cmd := exec.CommandContext(t.Context(), node, args...)
			cmd.Dir = "official"
			out, err := cmd.CombinedOutput()
			if passed := strings.Count(string(out), "\n✓ "); err != nil || passed < k.passed {
				t.Errorf("%v; %d scenarios passed\n%s", err, passed, out)
			}
			_, summary, _ := strings.Cut(string(out), "=== SUMMARY ===")
			t.Log(summary)
		})
	}
}
