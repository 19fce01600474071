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

	"github.com/ncruces/go-sqlite3"
	"go.yaml.in/yaml/v3"
)

// pluginsIn are the names of the plugins that were built into a directory.
func pluginsIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(built, dir))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// configured configures each built-in plugin by what is in the folder conformance/ of
// its source, but for sql, which names a database there that is not made for tests; and
// the one example that needs it.
func configured(t *testing.T, dir string, builtin []string) (adapters map[string]any) {
	t.Helper()
	db, err := sqlite3.Open(filepath.Join(dir, "orders.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Exec("CREATE TABLE orders (id INTEGER, note TEXT)"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	adapters = map[string]any{
		"sql":   map[string]any{"plugin": "sql", "config": map[string]any{"dsn": "sqlite:orders.db", "allowed_tables": []string{"orders"}}},
		"tides": map[string]any{"plugin": "tides", "config": map[string]any{"service": "localhost:8080", "ports": []string{"brest"}}},
	}
	for _, name := range builtin {
		source := filepath.Join("../../plugins", name, "conformance")
		if _, is := adapters[name]; is {
			continue
		}
		adapter := map[string]any{"plugin": name}
		if raw, err := os.ReadFile(filepath.Join(source, "config.yaml")); err == nil {
			if out, err := exec.Command("cp", "-R", source+"/.", dir).CombinedOutput(); err != nil {
				t.Fatalf("cp: %v: %s", err, out)
			}
			var config map[string]any
			if err := yaml.Unmarshal(raw, &config); err != nil {
				t.Fatal(err)
			}
			adapter["config"] = config
		}
		adapters[name] = adapter
	}
	return adapters
}

func TestTheInspectorFindsNothingInTheSchemasOfTheBuiltInPluginsAndNoErrorInThoseOfTheExamples(t *testing.T) {
	t.Parallel()
	absentUnless(t, "recipes", filepath.Join("@modelcontextprotocol", "inspector"))
	node := node22(t)
	dir, plugins := workspace(t, "")
	builtin := pluginsIn(t, "bin/plugins")
	adapters, err := json.Marshal(configured(t, dir, builtin)) // which is YAML too
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "toolwharf.yaml")
	text := "plugins: {dirs: [plugins]}\nadapters: " + string(adapters) + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	examples := slices.DeleteFunc(pluginsIn(t, "examples"), func(name string) bool { return name == "mischief" })
	for _, name := range examples {
		install(t, name, plugins)
	}
	h := serve(t, dir)

	cli := filepath.Join("recipes", "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
	cmd := exec.CommandContext(t.Context(), node, cli, "--cli", h.url, "--transport", "http", "--protocol-era", "modern",
		"--method", "tools/list", "--strict")
	stderr := &buffer{}
	cmd.Stderr = stderr
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	var listed struct{ Tools []struct{ Name string } }
	if err := json.Unmarshal(raw, &listed); err != nil {
		t.Fatalf("%v: %.1000s", err, raw)
	}
	for _, name := range append(builtin, examples...) {
		if !slices.ContainsFunc(listed.Tools, func(tool struct{ Name string }) bool { return strings.HasPrefix(tool.Name, name+"_") }) {
			t.Errorf("%s: no tool of it was inspected", name)
		}
		if found := "tool \"" + name + "_"; slices.Contains(builtin, name) && strings.Contains(stderr.String(), found) {
			t.Errorf("%s:\n%s", name, stderr)
		}
	}
}
