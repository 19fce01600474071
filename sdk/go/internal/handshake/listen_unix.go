// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package handshake

import (
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// maxSocketPath is the longest path that a socket can have on every unix.
const maxSocketPath = 103

// Listen opens a unix socket that only this user, and the group of the terms,
// can reach. Closing the listener removes it; clean removes the rest.
func Listen(t Terms) (l net.Listener, clean func(), err error) {
	dir, clean := t.SocketDir, func() {}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "toolwharf-"); err != nil {
			return nil, nil, fmt.Errorf("making a directory for the socket: %w", err)
		}
		private := dir
		clean = func() { _ = os.RemoveAll(private) }
	}
	path := filepath.Join(dir, "plugin-"+rand.Text()[:8]+".sock")
	if l, err = listenUnix(path, t.SocketGroup); err != nil {
		clean()
		return nil, nil, err
	}
	return l, clean, nil
}

// ListenAt opens a unix socket at a path of somebody's choice that only this user can
// reach.
func ListenAt(path string) (net.Listener, error) { return listenUnix(path, "") }

func listenUnix(path, group string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the socket's path %q is longer than the %d bytes that a socket may have: use a shorter directory",
			path, maxSocketPath)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listening: %w", err)
	}
	mode := os.FileMode(0o600)
	if group != "" {
		mode = 0o660
		if err := chgrp(path, group); err != nil {
			_ = l.Close()
			return nil, fmt.Errorf("giving the socket to the group %q: %w", group, err)
		}
	}
	if err := os.Chmod(path, mode); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("protecting the socket: %w", err)
	}
	return l, nil
}

func chgrp(path, group string) error {
	gid, err := strconv.Atoi(group)
	if err != nil {
		g, err := user.LookupGroup(group)
		if err != nil {
			return err
		}
		if gid, err = strconv.Atoi(g.Gid); err != nil {
			return err
		}
	}
	return os.Chown(path, -1, gid)
}
