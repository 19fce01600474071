// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"github.com/toolwharf/toolwharf/host/internal/fault"
)

// Load reads a file. Faults name it as path does. The Config is nil exactly
// when the list holds an error.
func Load(path string) (*Config, fault.List) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fault.List{{File: path, Summary: "cannot be made absolute: " + err.Error()}}
	}
	data, err := readFile(abs)
	if err != nil {
		f := fault.Fault{File: path, Summary: "cannot be read: " + err.Error()}
		if errors.Is(err, fs.ErrNotExist) {
			f.Summary, f.Detail = "no such file", "`toolwharf init` writes one"
		}
		return nil, fault.List{f}
	}
	c, faults := Parse(path, data, filepath.Dir(abs))
	if c != nil {
		c.File = abs
	}
	return c, faults
}

// readFile reads at most one byte more than Parse accepts.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	return data, cause(err)
}

// cause drops the path from an error that is shown beside it.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}

// Parse reads a configuration that is in memory. name is what faults call it;
// relative paths start from baseDir, which should be absolute. The Config is
// nil exactly when the list holds an error.
func Parse(name string, data []byte, baseDir string) (*Config, fault.List) {
	faults := &report{file: name}
	root := read(data, faults)
	if root == nil {
		return nil, faults.result()
	}
	c := loadContract()
	judge(c, root, faults)
	walk(root, c.root, "", faults)
	cfg := &Config{Dir: baseDir}
	decoder{file: name, dir: baseDir}.decode(reflect.ValueOf(cfg).Elem(), root, c.root, "", nil)
	checker{cfg: cfg, root: root, faults: faults}.check()
	list := faults.result()
	if list.Err() != nil {
		return nil, list
	}
	return cfg, list
}

// Default is the configuration of a host without a file: no adapters but those
// that drop in beside the executable.
func Default(baseDir string) *Config {
	c, faults := Parse("", nil, baseDir)
	if c == nil {
		panic("config: the defaults are refused: " + faults.Error())
	}
	return c
}
