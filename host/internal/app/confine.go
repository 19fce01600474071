// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"os"
	"path/filepath"

	"github.com/toolwharf/toolwharf/host/internal/adapter/grant"
	"github.com/toolwharf/toolwharf/host/internal/adapter/plugin"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
	"github.com/toolwharf/toolwharf/host/internal/config"
)

// GrantsPath is where it is remembered what plugins have asked for.
func GrantsPath(c *config.Config) string { return filepath.Join(c.State, "grants.json") }

// confine is what the plugins of a configuration are confined by. What they asked
// for is remembered in a file, or, without one, by this process.
func confine(c *config.Config, runDir, file string, key []byte) *plugin.Confinement {
	return &plugin.Confinement{
		Support: sandbox.Probe(), Judge: grant.NewJudge(guarded(c, runDir)), Memory: &grant.Memory{File: file}, Key: key,
	}
}

// guarded is what the host lives by.
func guarded(c *config.Config, runDir string) []grant.Guarded {
	all := []grant.Guarded{
		{What: "the state directory", Path: c.State, Secret: true},
		{What: "the directory of sockets", Path: runDir, Secret: true},
		{What: "the lock", Path: LockPath(c)},
	}
	if c.File != "" {
		all = append(all, grant.Guarded{What: "the configuration", Path: c.File, Secret: true})
	}
	for _, d := range directories(c) {
		all = append(all, grant.Guarded{What: "a directory of plugins", Path: d.Path})
	}
	if self, err := os.Executable(); err == nil {
		all = append(all, grant.Guarded{What: "the host's program", Path: self})
	}
	return all
}
