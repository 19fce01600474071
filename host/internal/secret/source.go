// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MaxFile is the largest file that a reference may name, in bytes.
const MaxFile = 64 << 10

// Source is where references lead. Its errors must not hold a value.
type Source interface {
	// Env is a variable of the environment, and whether it is set.
	Env(name string) (value string, ok bool)
	// File is the whole content of a file.
	File(path string) ([]byte, error)
}

// System is the Source of a running host: its own environment and the files of
// its machine.
type System struct {
	// Dir is what relative paths start from: the configuration's directory.
	Dir string
}

var _ Source = System{}

// Env is a variable of the process.
func (System) Env(name string) (string, bool) { return os.LookupEnv(name) }

// Reasons for which a file is refused, all without its content.
var (
	ErrNotRegular = errors.New("not a regular file")
	ErrTooLarge   = errors.New("larger than 64 KiB")
)

// File reads a regular file of at most MaxFile bytes. Links are followed:
// Kubernetes mounts secrets as links.
func (s System) File(path string) ([]byte, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.Dir, path)
	}
	// A FIFO without a writer would block the open for ever.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxFile {
		return nil, ErrTooLarge
	}
	return data, nil
}

// reason is err for an operator's eyes. The path is part of the reference and
// need not be repeated.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return err.Error()
}
