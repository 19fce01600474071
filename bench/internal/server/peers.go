// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// Peers are installed MCP servers of others: a directory in which npm has
// installed what bench/peers/package.json lists.
type Peers struct {
	Toolbox string // MCP Toolbox's binary
	DBHub   string // dbhub's program for Node.js
	Node    string // the Node.js that came with it
}

// FindPeers looks for them in a directory. An error says that they are not all
// there.
func FindPeers(dir string) (Peers, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Peers{}, err
	}
	system := map[string]string{"windows": "win32"}[runtime.GOOS]
	if system == "" {
		system = runtime.GOOS
	}
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	modules := filepath.Join(dir, "node_modules")
	p := Peers{
		// The program itself: what the package starts it with is one more process.
		Toolbox: filepath.Join(modules, "@toolbox-sdk", "server-"+system+"-"+arch, "bin", "toolbox"),
		DBHub:   filepath.Join(modules, "@bytebase", "dbhub", "dist", "index.js"),
		Node:    filepath.Join(modules, "node-"+system+"-"+arch, "bin", "node"),
	}
	for _, file := range []string{p.Toolbox, p.DBHub, p.Node} {
		if _, statErr := os.Stat(file); statErr != nil {
			err = errors.Join(err, fmt.Errorf("no peer: %w", statErr))
		}
	}
	return p, err
}
