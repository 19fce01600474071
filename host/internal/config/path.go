// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"crypto/tls"
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
	if files := c.cfg.HTTP.TLS; files != nil {
		c.exists([]string{"http", "tls", "cert"}, files.Cert, false)
		c.exists([]string{"http", "tls", "key"}, files.Key, false)
		c.pair(files)
	}
	for _, s := range c.cfg.Servers {
		if s.Disabled {
			continue
		}
		c.exists([]string{"mcpServers", s.Name, "envFile"}, s.EnvFile, false)
		c.exists([]string{"mcpServers", s.Name, "cwd"}, s.Cwd, true)
	}
}

// pair refuses a certificate that no server could speak TLS with. What is not there
// was said before.
func (c checker) pair(files *TLS) {
	_, err := tls.LoadX509KeyPair(files.Cert, files.Key)
	if _, absent := errors.AsType[*fs.PathError](err); err != nil && !absent {
		c.refuse([]string{"http", "tls", "cert"}, "", "is no certificate of this key: %s", strings.TrimPrefix(err.Error(), "tls: "))
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
