//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bufio"
	"io"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"
)

// privateGroup reports whether a group is the host's user's own: many systems
// give each user a group of the same name and a umask that lets it write.
func privateGroup(gid uint32) bool {
	own, ok := ownGroup()
	return ok && own == gid
}

var ownGroup = sync.OnceValues(func() (gid uint32, ok bool) {
	u, err := user.Current()
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return 0, false
	}
	f, err := os.Open("/etc/group")
	if err != nil {
		return 0, false
	}
	defer func() { _ = f.Close() }()
	return uint32(n), isPrivate(f, u.Gid, u.Username)
})

// isPrivate reads group(5): the group has the user's name, and nobody else is
// listed as its member. A group that is not listed there may have any members.
func isPrivate(groups io.Reader, gid, name string) bool {
	for lines := bufio.NewScanner(groups); lines.Scan(); {
		f := strings.Split(lines.Text(), ":")
		if len(f) == 4 && f[2] == gid {
			return f[0] == name && (f[3] == "" || f[3] == name)
		}
	}
	return false
}
