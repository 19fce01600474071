// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
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
	for _, store := range []string{"/nix/store", "/gnu/store"} {
		if strings.HasPrefix(loader, store+"/") {
			l.add(sandbox.Read, store)
		}
	}
	// Where else its libraries lie, a binary says of itself. That is no reason to
	// let it read there.
	return nil
}
