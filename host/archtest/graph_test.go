// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// ours is what the import path of every package of this repository begins with.
const ours = "github.com/toolwharf/toolwharf/"

// systems are those that the host is built for. Files, and so imports, differ.
var systems = []string{"linux", "darwin", "windows"}

// pkg is what `go list -json` says of a package.
type pkg struct {
	ImportPath   string
	Dir          string
	Doc          string
	Imports      []string
	GoFiles      []string
	TestGoFiles  []string
	XTestGoFiles []string
	Error        *struct{ Err string }
}

// graph has packages by import path.
type graph map[string]*pkg

// add merges a package in: its imports on one system to those on another.
func (g graph) add(p *pkg) {
	known, ok := g[p.ImportPath]
	if !ok {
		g[p.ImportPath] = p
		return
	}
	if known.Doc == "" {
		known.Doc = p.Doc
	}
	known.Imports = union(known.Imports, p.Imports)
	known.GoFiles = union(known.GoFiles, p.GoFiles)
	known.TestGoFiles = union(known.TestGoFiles, p.TestGoFiles)
	known.XTestGoFiles = union(known.XTestGoFiles, p.XTestGoFiles)
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// chain is the shortest way from a package, by imports, to one that is wanted,
// both ends included. It does not go on behind what stop says. It is nil when
// there is none.
func (g graph) chain(from string, wanted, stop func(path string) bool) []string {
	came := map[string]string{from: ""}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		p, ok := g[queue[0]]
		if !ok || p.ImportPath != from && stop != nil && stop(p.ImportPath) {
			continue
		}
		for _, next := range p.Imports {
			if _, seen := came[next]; seen {
				continue
			}
			came[next] = p.ImportPath
			if wanted(next) {
				return trace(came, next)
			}
			queue = append(queue, next)
		}
	}
	return nil
}

func trace(came map[string]string, to string) []string {
	var way []string
	for ; to != ""; to = came[to] {
		way = append(way, to)
	}
	slices.Reverse(way)
	return way
}

// matches reports whether a path is one of the patterns: a path itself, or one
// and all below it when the pattern ends in /...
func matches(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		tree, ok := strings.CutSuffix(pattern, "/...")
		return path == tree || ok && strings.HasPrefix(path, tree+"/")
	})
}

// repository is the root of the repository. A test is skipped where there is none:
// in a copy of this module alone.
func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.work")); err != nil {
		t.Skip("not in the repository: ", err)
	}
	return root
}

// modules are the directories of the workspace's modules, relative to its root.
func modules(t *testing.T) []string {
	t.Helper()
	var work struct{ Use []struct{ DiskPath string } }
	if err := json.Unmarshal(golang(t, repository(t), nil, "work", "edit", "-json"), &work); err != nil {
		t.Fatal(err)
	}
	dirs := make([]string, 0, len(work.Use))
	for _, use := range work.Use {
		dirs = append(dirs, filepath.Clean(use.DiskPath))
	}
	if len(dirs) == 0 {
		t.Fatal("the workspace has no modules")
	}
	return dirs
}

// golang runs the go command in a directory and returns what it prints.
func golang(t *testing.T, dir string, env []string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s in %s: %v\n%s", strings.Join(args, " "), dir, err, &stderr)
	}
	return out
}

var (
	loading sync.Mutex
	loaded  graph
)

// load lists the packages of all modules, each by itself as if there were no
// workspace, with all that they import on any of the systems. What cannot be
// loaded is a fault, since what hangs on it would go unseen.
func load(t *testing.T) graph {
	t.Helper()
	loading.Lock()
	defer loading.Unlock()
	if loaded != nil {
		return loaded
	}
	g := graph{}
	root := repository(t)
	for _, module := range modules(t) {
		for _, system := range systems {
			env := []string{"GOWORK=off", "CGO_ENABLED=0", "GOOS=" + system}
			out := golang(t, filepath.Join(root, module), env, "list", "-e", "-deps",
				"-json=ImportPath,Dir,Doc,Imports,GoFiles,TestGoFiles,XTestGoFiles,Error", "./...")
			for dec := json.NewDecoder(bytes.NewReader(out)); ; {
				p := &pkg{}
				if err := dec.Decode(p); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				if p.Error != nil {
					t.Errorf("%s on %s: %s: %s", module, system, p.ImportPath, p.Error.Err)
				}
				g.add(p)
			}
		}
	}
	loaded = g
	return g
}

// own are the import paths of this repository's packages, sorted.
func (g graph) own() []string {
	var paths []string
	for path := range g {
		if strings.HasPrefix(path, ours) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}
