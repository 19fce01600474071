// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// maxLoader bounds the path of a program's loader.
const maxLoader = 4096

// binary adds what a binary is loaded with. What is no binary cannot be executed
// either, which is the kernel's to say.
func (l *list) binary(r io.ReaderAt, path string) error {
	f, err := elf.NewFile(r)
	if _, no := errors.AsType[*elf.FormatError](err); no || errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer func() { _ = f.Close() }()
	loader := ""
	for _, segment := range f.Progs {
		if segment.Type != elf.PT_INTERP {
			continue
		}
		text, err := io.ReadAll(io.LimitReader(segment.Open(), maxLoader))
		if err != nil {
			return fmt.Errorf("%s: its loader: %w", path, err)
		}
		loader = strings.TrimRight(string(text), "\x00")
	}
	if loader == "" {
		return nil // static
	}
	l.libraries()
	l.add(sandbox.Execute, loader)
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		values, _ := f.DynString(tag)
		for _, value := range values {
			for _, dir := range filepath.SplitList(value) {
				origin := filepath.Dir(path)
				dir = strings.NewReplacer("$ORIGIN", origin, "${ORIGIN}", origin).Replace(dir)
				if filepath.Base(filepath.Clean(dir)) != "lib" && filepath.Base(filepath.Clean(dir)) != "lib64" {
					continue // a binary says of itself where its libraries are; that is no reason to open a home
				}
				l.add(sandbox.Read, dir)
			}
		}
	}
	return nil
}
