// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/catalog"
)

// program is what is started.
type program struct {
	argv   []string
	folder bool
	dir    string
}

// find resolves a path: an executable, or a folder with a plugin.yaml. An error
// wraps fs.ErrNotExist if there is nothing.
func find(path, dir string) (*program, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		command, err := catalog.Command(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		p := adapter.Program{Command: command}
		return &program{argv: p.Argv(path), folder: true, dir: dir}, nil
	}
	if _, err := exec.LookPath(path); err != nil {
		return nil, fmt.Errorf("%s cannot be executed: chmod +x", path)
	}
	return &program{argv: []string{path}, dir: dir}, nil
}
