// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestANewPluginIsCalledWithoutALineWritten walks from nothing to the first call.
func TestANewPluginIsCalledWithoutALineWritten(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	h := serve(t, dir)
	session := h.connect("", nil)

	stdout, stderr, code := run(t, dir, "plugins", "new", "weather", "--lang", "go")
	if code != 0 || !strings.Contains(stdout, "cd weather") {
		t.Fatalf("plugins new: exit %d: %s%s", code, stdout, stderr)
	}
	project := filepath.Join(dir, "weather")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join("bin", "weather"), ".")
	build.Dir, build.Env = project, append(os.Environ(), "GOWORK=off", "GOPROXY=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	binary := filepath.Join(project, "bin", "weather")
	passes(t, dir, binary, "calls/digits calls/deadline calls/cancel calls/questions end/secrets")

	if out, err := exec.CommandContext(t.Context(), "cp", binary, plugins).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	lists(t, session, "weather_greet", true)
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "weather_greet", Arguments: map[string]any{"name": "Ada"}})
	if err != nil || r.IsError {
		t.Fatalf("call: %v, %+v", err, r)
	}
	if text, ok := r.Content[0].(*mcp.TextContent); !ok || text.Text != `{"text":"Hello, Ada!"}` {
		t.Errorf("%+v", r.Content[0])
	}
}

func TestPluginsNewRefusesWhatItCannotMake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"is not empty":          {"weather", "."},
		"a plugin's name":       {"My Weather"},
		`--lang "cobol"`:        {"weather", "--lang", "cobol"},
		"neither a checkout":    {"weather", "--sdk", "."},
		"the module":            {"weather", "--module", "a b"},
		"accepts between 1 and": {},
	} {
		stdout, stderr, code := run(t, dir, append([]string{"plugins", "new"}, args...)...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d: %s%s", args, code, stdout, stderr)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("written: %v, %v", entries, err)
	}
}
