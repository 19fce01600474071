// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// toolModules are the modules outside the workspace: what builds our tools, and a
// server that tests need.
func toolModules(t *testing.T) []string {
	t.Helper()
	root := repository(t)
	files, err := filepath.Glob(filepath.Join(root, "tools", "*", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, filepath.Join(root, "host", "e2e", "provider", "go.mod"))
	dirs := make([]string, 0, len(files))
	for _, f := range files {
		dir, err := filepath.Rel(root, filepath.Dir(f))
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// direct are the modules and tools that a go.mod asks for itself, but for ours.
func direct(t *testing.T, dir string) []string {
	t.Helper()
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
		Tool []struct{ Path string }
	}
	if err := json.Unmarshal(golang(t, dir, []string{"GOWORK=off"}, "mod", "edit", "-json"), &mod); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, r := range mod.Require {
		if !r.Indirect && !strings.HasPrefix(r.Path+"/", ours) {
			paths = append(paths, r.Path)
		}
	}
	for _, tool := range mod.Tool {
		paths = append(paths, tool.Path)
	}
	return paths
}

// row is a line of the table of a module: a dependency and its reason.
var row = regexp.MustCompile("^\\| `([^`]+)` \\| (.*[^ ]) +\\|$")

// reasons reads docs/dependencies.md: by the module that a heading names, the
// dependencies that have a reason.
func reasons(t *testing.T, root string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "dependencies.md"))
	if err != nil {
		t.Fatal(err)
	}
	given := map[string][]string{}
	module := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			module = strings.Trim(heading, "`")
		} else if m := row.FindStringSubmatch(line); m != nil {
			given[module] = append(given[module], m[1])
		}
	}
	return given
}

func TestEachDirectDependencyHasItsReason(t *testing.T) {
	root := repository(t)
	given := reasons(t, root)
	for _, module := range append(modules(t), toolModules(t)...) {
		module = filepath.ToSlash(module)
		needed := direct(t, filepath.Join(root, module))
		for _, path := range needed {
			if !slices.Contains(given[module], path) {
				t.Errorf("docs/dependencies.md: under %q nothing says why %s is needed", module, path)
			}
		}
		for _, path := range given[module] {
			if !slices.Contains(needed, path) {
				t.Errorf("docs/dependencies.md: %q no longer needs %s by itself", module, path)
			}
		}
		delete(given, module)
	}
	for heading, rows := range given {
		t.Errorf("docs/dependencies.md: %q is no module, and has %q", heading, rows)
	}
}
