// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/toolwharf/toolwharf/host/internal/adapter/account"
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
	confinement := &plugin.Confinement{
		Support: sandbox.Probe(), Judge: grant.NewJudge(guarded(c, runDir)), Memory: &grant.Memory{File: file}, Key: key,
	}
	users := ""
	if file != "" {
		users = UsersPath(c)
	}
	var err error
	if confinement.Accounts, err = accounts(c, users, runDir); err != nil && !errors.Is(err, account.ErrNotRoot) {
		confinement.WhyNoAccounts = err.Error()
	}
	return confinement
}

// UsersPath is where it is recorded which adapter has which user.
func UsersPath(c *config.Config) string { return filepath.Join(c.State, "users.json") }

// claims is where the users that run are claimed on a machine.
const claims = "/run/toolwharf/users"

// accounts are the users of adapters, if this host has any to give. Where nothing
// can be written for the machine, they are claimed among the adapters of this host.
func accounts(c *config.Config, file, runDir string) (*account.Book, error) {
	if err := account.Possible(); err != nil {
		return nil, err
	}
	b := &account.Book{File: file, Claims: claims, Owner: c.State}
	if os.MkdirAll(b.Claims, 0o700) == nil && isOwn(b.Claims) {
		return b, nil
	}
	b.Claims = filepath.Join(runDir, "users")
	return b, os.MkdirAll(b.Claims, 0o700)
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
