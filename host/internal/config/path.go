// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// paths checks the files and directories that must be there. The state
// directory is created, so only what stands in its place is checked.
func (c checker) paths() {
	if info, err := os.Stat(c.cfg.State); err == nil && !info.IsDir() {
		c.refuse([]string{"state"}, "", "is not a directory")
	}
	c.home([]string{"state"})
	for i, dir := range c.cfg.Plugins.Dirs {
		c.exists([]string{"plugins", "dirs", itoa(i)}, dir, true)
	}
	if tls := c.cfg.HTTP.TLS; tls != nil {
		c.exists([]string{"http", "tls", "cert"}, tls.Cert, false)
		c.exists([]string{"http", "tls", "key"}, tls.Key, false)
	}
	for _, s := range c.cfg.Servers {
		if s.Disabled {
			continue
		}
		c.exists([]string{"mcpServers", s.Name, "envFile"}, s.EnvFile, false)
		c.exists([]string{"mcpServers", s.Name, "cwd"}, s.Cwd, true)
	}
}

// exists refuses a path of the file that leads nowhere or to the wrong thing.
func (c checker) exists(location []string, path string, dir bool) {
	if path == "" || c.home(location) {
		return
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		what := "file"
		if dir {
			what = "directory"
		}
		c.refuse(location, "", "no such %s: %s", what, path)
	case err != nil:
		c.refuse(location, "", "cannot be used: %s", cause(err))
	case dir && !info.IsDir():
		c.refuse(location, "", "is not a directory: %s", path)
	case !dir && !info.Mode().IsRegular():
		c.refuse(location, "", "is not a regular file: %s", path)
	}
}

// home refuses ~, which only shells expand.
func (c checker) home(location []string) bool {
	n, whole, sound := c.root.find(location)
	if !whole || !sound || n.kind != text || (n.scalar != "~" && !strings.HasPrefix(n.scalar, "~/")) {
		return false
	}
	c.refuse(location, "write the directory out", "~ is not expanded in this file")
	return true
}

func itoa(i int) string { return strconv.Itoa(i) }
