// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Hash is the hash of a program: of an executable its SHA-256, of a folder that
// of its list.
func Hash(path string, folder bool) (tool.Digest, error) {
	if folder {
		return hashTree(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return tool.Digest{}, err
	}
	defer f.Close()
	return hashOf(f)
}

func hashOf(r io.Reader) (tool.Digest, error) {
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(r, MaxBytes+1))
	if err == nil && n > MaxBytes {
		err = fmt.Errorf("it is larger than %d MiB", MaxBytes>>20)
	}
	if err != nil {
		return tool.Digest{}, err
	}
	return tool.Digest(h.Sum(nil)), nil
}

// hashTree is the SHA-256 of a list with one line for each entry, sorted by the
// bytes of their paths: its kind, the SHA-256 of its content (of a link: of
// where it leads; of a directory: "-"), and its path.
//
//	d - bin
//	x 2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae bin/server
func hashTree(path string) (tool.Digest, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return tool.Digest{}, err
	}
	defer root.Close()
	entries, err := Walk(root)
	if err != nil {
		return tool.Digest{}, err
	}
	var list strings.Builder
	for _, e := range entries {
		sum, err := content(root, e)
		if err != nil {
			return tool.Digest{}, plain(err)
		}
		fmt.Fprintf(&list, "%c %s %s\n", e.Kind, sum, e.Path)
	}
	return tool.DigestOf([]byte(list.String())), nil
}

// content is the hash of an entry's content, as the list has it.
func content(root *os.Root, e Entry) (string, error) {
	switch e.Kind {
	case Link:
		target, err := root.Readlink(e.Path)
		sum := tool.DigestOf([]byte(target))
		return hex.EncodeToString(sum[:]), err
	case File, Executable:
		f, err := root.Open(e.Path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return "", errors.Join(err, fmt.Errorf("%s has changed while it was read", e.Path))
		}
		sum, err := hashOf(f)
		return hex.EncodeToString(sum[:]), err
	case Dir:
	}
	return "-", nil
}
