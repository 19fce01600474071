// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// folder makes a plugin of a folder: a script that executes a built plugin of
// the folder, so that both are a part of it.
func folder(t *testing.T, dir, name, plugin string) string {
	t.Helper()
	made := filepath.Join(dir, "."+name)
	if err := os.MkdirAll(filepath.Join(made, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	install(t, plugin, filepath.Join(made, "lib"))
	script(t, made, "run", `exec "$1"`)
	manifest := "command: [run, ./lib/" + plugin + "]\n"
	if err := os.WriteFile(filepath.Join(made, "plugin.yaml"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(made, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// greets calls the tool of the plugin hello.
func greets(t *testing.T, s *mcp.ClientSession, tool string) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"name": "Ada"}})
	if err != nil || r.IsError {
		t.Fatalf("call of %s: %v, %+v", tool, err, r)
	}
}

func TestAFolderIsAPluginThatIsSwappedWhenAnythingInItChanges(t *testing.T) {
	dir, plugins := workspace(t, "")
	h := serve(t, dir)
	session := h.connect("", nil)
	path := folder(t, plugins, "weather", "hello")
	lists(t, session, "weather_greet", true)
	greets(t, session, "weather_greet")

	before := h.adapters()["weather"].PID
	if err := os.WriteFile(filepath.Join(path, "lib", "data.txt"), []byte("rain"), 0o644); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is swapped", func() error {
		if a := h.adapters()["weather"]; a.PID == before || a.State != "ready" {
			return fmt.Errorf("it is %+v", a)
		}
		return nil
	})
	greets(t, session, "weather_greet")
	eventually(t, "the old process is gone", func() error { return gone(before) })

	folder(t, plugins, "weather", "echo")
	lists(t, session, "weather_echo", true)
	lists(t, session, "weather_greet", false)

	pid := h.adapters()["weather"].PID
	if err := os.RemoveAll(filepath.Join(plugins, "weather")); err != nil {
		t.Fatal(err)
	}
	lists(t, session, "weather_echo", false)
	eventually(t, "its process is gone", func() error { return gone(pid) })
}
