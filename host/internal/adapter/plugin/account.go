// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/adapter/account"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// settle gives the process a user of its own, if that user reaches all that it
// needs.
func (c *cage) settle(confinement *Confinement, adapter string, needs []account.Need) {
	if confinement.Accounts == nil {
		c.whyHost = confinement.WhyNoAccounts
		return
	}
	a, err := confinement.Accounts.Take(adapter)
	if err == nil {
		if err = a.Reach(needs); err != nil {
			a.Release()
		}
	}
	if err != nil {
		c.whyHost = err.Error()
		return
	}
	c.account, c.policy.User = a, a.ID
}

// give gives the process what the host has made for it, and nothing else.
func (c *cage) give(path string) error {
	if c.account == nil {
		return nil
	}
	return os.Lchown(path, c.account.ID, c.account.ID)
}

// systems are where the system's own files lie, whose modes are its affair: of what
// a program needs there, only the top is looked at.
var systems = []string{"/usr", "/lib", "/lib32", "/lib64", "/bin", "/etc", "/proc", "/sys", "/dev", "/run", "/nix/store", "/gnu/store"}

// needs are what a process has to reach: the directories that are made for it, what
// its program takes, and each thing that it was granted.
func needs(runDir string, program, granted []sandbox.Rule) []account.Need {
	all := []account.Need{{Path: runDir, Enter: true}}
	for _, r := range program {
		all = append(all, account.Need{
			Path: r.Path, Write: r.Access == sandbox.Device, Execute: r.Access == sandbox.Execute, Beneath: !system(r.Path),
		})
	}
	for _, r := range granted {
		all = append(all, account.Need{Path: r.Path, Write: r.Access == sandbox.Write, Beneath: true})
	}
	return all
}

func system(path string) bool {
	for _, s := range systems {
		if path == s || strings.HasPrefix(path, s+"/") {
			return true
		}
	}
	return false
}
