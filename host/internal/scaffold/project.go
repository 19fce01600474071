// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// all: also files that begin with a dot.
//
//go:embed all:_go
var templates embed.FS

// placeholder is what the plugin of the template is called.
const placeholder = "greeter"

// Project is a plugin to be made.
type Project struct {
	// Name of the plugin.
	Name string
	// Dir is made if it is not there; if it is, it must be empty.
	Dir string
	// Module is the Go module's path; empty: example.com/NAME.
	Module string
	// SDK is what it is built with.
	SDK SDK
}

var (
	pluginName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
	// moduleName is what Go allows, as far as anybody uses it.
	moduleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.~-]*(/[A-Za-z0-9_][A-Za-z0-9_.~-]*)*$`)
)

// Check reports, as an error, a project that cannot be made. It writes nothing.
func (p *Project) Check() error {
	if !pluginName.MatchString(p.Name) {
		return fmt.Errorf("the name %q: a plugin's name begins with a-z and has a-z 0-9 _ - only, at most 63", p.Name)
	}
	if !moduleName.MatchString(p.module()) {
		return fmt.Errorf("the module %q: it is a path such as example.com/%s", p.Module, p.Name)
	}
	entries, err := os.ReadDir(p.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty: it has %s; name another directory", p.Dir, entries[0].Name())
	}
	return nil
}

func (p *Project) module() string {
	if p.Module != "" {
		return p.Module
	}
	return "example.com/" + p.Name
}

// Write writes the project and returns the names of its files. Nothing that is
// there is overwritten.
func (p *Project) Write() ([]string, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	files, err := p.SDK.files(p.module())
	if err != nil {
		return nil, err
	}
	root, err := fs.Sub(templates, "_go")
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(root, path)
		files = append(files, file{path, strings.ReplaceAll(string(text), placeholder, p.Name)})
		return err
	})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range files {
		if err := f.write(p.Dir); err != nil {
			return nil, err
		}
		names = append(names, f.path)
	}
	return names, nil
}

// file is one file of a project; its path has slashes.
type file struct{ path, text string }

func (f file) write(dir string) error {
	path := filepath.Join(dir, filepath.FromSlash(f.path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // source code is no secret
		return err
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // source code is no secret
	if err != nil {
		return err
	}
	_, err = out.WriteString(f.text)
	return errors.Join(err, out.Close())
}
