// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A package of nothing but generated files is described by what it is generated
// from.
func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	g := load(t)
	for _, path := range g.own() {
		if p := g[path]; p.Doc == "" && slices.ContainsFunc(p.GoFiles, func(name string) bool { return !generated.Match(read(t, p, name)) }) {
			t.Errorf("%s has no package comment: give it a doc.go", strings.TrimPrefix(path, ours))
		}
	}
}

// long is where a file becomes several files.
const long = 500

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// It only warns: a table of cases may be as long as it likes.
func TestFilesOfReadableLength(t *testing.T) {
	g := load(t)
	for _, path := range g.own() {
		p := g[path]
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			text := read(t, p, name)
			if lines := bytes.Count(text, []byte("\n")); lines > long && !generated.Match(text) {
				t.Logf("%s/%s has %d lines", strings.TrimPrefix(path, ours), name, lines)
			}
		}
	}
}

func read(t *testing.T, p *pkg, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(p.Dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return text
}
