// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
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

func TestTheTypeScriptClientsListAndCallOverHTTPInBothEras(t *testing.T) {
	t.Parallel()
	node := node(t, "ts", "@modelcontextprotocol")
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	h := serve(t, dir)
	for sdk, protocol := range map[string]string{"v1": "2025-11-25", "legacy": "2025-11-25", "modern": "2026-07-28"} {
		t.Run(sdk, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), node, "client.mjs", h.url, sdk, "echo_echo", `{"text":"héllo"}`)
			cmd.Dir = "ts"
			stderr := &buffer{}
			cmd.Stderr = stderr
			raw, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s\n%s", err, raw, stderr)
			}
			var got struct {
				Protocol, Text, Unknown string
				Tools                   []string
				Refused                 struct {
					IsError bool
					Kind    string
				}
			}
			if err := json.Unmarshal(raw, &got); err != nil {
				t.Fatalf("%v: %s", err, raw)
			}
			if got.Protocol != protocol {
				t.Errorf("negotiated %q, should be %q", got.Protocol, protocol)
			}
			if !slices.Contains(got.Tools, "echo_echo") || got.Text != "héllo" {
				t.Errorf("got %s", raw)
			}
			if !got.Refused.IsError || got.Refused.Kind != "args_invalid" {
				t.Errorf("refused: %s", raw)
			}
			if !strings.Contains(got.Unknown, "-32602") || !strings.Contains(got.Unknown, "unknown tool") {
				t.Errorf("unknown tool: %s", got.Unknown)
			}
		})
	}
}
