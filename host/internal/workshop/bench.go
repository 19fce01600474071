// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package workshop

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/adapter/catalog"
)

// Bench is one plugin in the making.
type Bench struct {
	// Name is the plugin's, by its folder.
	Name string

	source  string // absolute
	plugins string // where the host looks
	folder  bool   // it has a plugin.yaml, and nothing is built
	last    [sha256.Size]byte
}

// Open looks at a folder of sources: a Go program, or a plugin.yaml. plugins is
// the directory in which the host looks.
func Open(source, plugins string) (*Bench, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(source)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory", source)
	}
	b := &Bench{Name: nameOf(source), source: source, plugins: plugins}
	if _, err := os.Stat(filepath.Join(source, "plugin.yaml")); err == nil {
		b.folder = true
		return b, nil
	}
	if files, _ := filepath.Glob(filepath.Join(source, "*.go")); len(files) == 0 {
		return nil, fmt.Errorf("%s has neither a Go program nor a plugin.yaml", source)
	}
	return b, nil
}

var unfit = regexp.MustCompile(`[^a-z0-9_-]+`)

// nameOf makes a plugin's name of a folder's.
func nameOf(source string) string {
	name := unfit.ReplaceAllString(strings.ToLower(filepath.Base(source)), "-")
	name = strings.TrimLeft(name, "-_0123456789")
	if name = name[:min(len(name), 63)]; name == "" {
		return "plugin"
	}
	return name
}

// BuildError is a build that has failed: the compiler's words.
type BuildError struct{ Output string }

func (e *BuildError) Error() string { return strings.TrimSpace(e.Output) }

// Build builds and, if the result is another than before, calls accept and puts it
// into the place of the one that was. The one that was stays if an error is
// returned; the error is a *BuildError if it is the sources' fault.
func (b *Bench) Build(ctx context.Context, accept func()) (changed bool, err error) {
	if b.folder {
		return b.link(accept)
	}
	name := b.Name
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	fresh := filepath.Join(b.plugins, "."+name) // hosts leave such names alone
	cmd := exec.CommandContext(ctx, "go", "build", "-o", fresh, ".")
	cmd.Dir = b.source
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case errors.Is(err, exec.ErrNotFound):
		return false, errors.New("there is no go on the path: https://go.dev/dl")
	case err != nil:
		return false, &BuildError{Output: string(out)}
	}
	binary, err := os.ReadFile(fresh)
	if err != nil {
		return false, &BuildError{Output: "nothing was built: is it package main?"}
	}
	digest := sha256.Sum256(binary)
	if bytes.Equal(digest[:], b.last[:]) {
		return false, os.Remove(fresh)
	}
	accept()
	if err := os.Rename(fresh, filepath.Join(b.plugins, name)); err != nil {
		return false, err
	}
	b.last = digest
	return true, nil
}

// link lets the host look at the folder itself, which it watches then.
func (b *Bench) link(accept func()) (changed bool, err error) {
	accept()
	if _, err := catalog.Command(b.source); err != nil {
		return false, &BuildError{Output: err.Error()}
	}
	err = os.Symlink(b.source, filepath.Join(b.plugins, b.Name))
	if errors.Is(err, os.ErrExist) {
		return false, nil
	}
	return err == nil, err
}
