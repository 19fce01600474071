// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"

	"github.com/toolwharf/toolwharf/host/internal/fault"
)

// File is a file that was read, and not yet understood.
type File struct {
	// Name is what faults call it, Path is absolute.
	Name, Path string
	Data       []byte
}

// Open reads a file. The File is nil exactly when the list holds an error.
func Open(path string) (*File, fault.List) {
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
	return &File{Name: path, Path: abs, Data: data}, nil
}

// Parse understands the file. The Config is nil exactly when the list holds an
// error.
func (f *File) Parse() (*Config, fault.List) {
	c, faults := Parse(f.Name, f.Data, filepath.Dir(f.Path))
	if c != nil {
		c.File, c.Sum = f.Path, f.Sum()
	}
	return c, faults
}

// Sum is the SHA-256 of the content; of no file it is zero.
func (f *File) Sum() [sha256.Size]byte {
	if f == nil {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(f.Data)
}

// Load reads and understands a file. Faults name it as path does. The Config is
// nil exactly when the list holds an error.
func Load(path string) (*Config, fault.List) {
	f, faults := Open(path)
	if f == nil {
		return nil, faults
	}
	return f.Parse()
}

// StateOf is the state directory of a file that may be broken: what it says, as
// far as that can be read, else the default. It is for finding the host that
// serves on although its file was broken since.
func StateOf(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	data, _ := readFile(abs)
	return stateOf(data, filepath.Dir(abs))
}

func stateOf(data []byte, dir string) string {
	var ignored report
	root := read(data, &ignored)
	if root == nil {
		root = &node{kind: mapping}
	}
	cfg := &Config{}
	decoder{dir: dir}.decode(reflect.ValueOf(cfg).Elem(), root, loadContract().root, "", nil)
	if cfg.State == "" { // it is no text
		return Default(dir).State
	}
	return cfg.State
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
