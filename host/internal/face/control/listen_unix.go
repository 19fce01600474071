//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// listen opens the socket as 0600 from its first moment on.
func listen(path string) (net.Listener, error) {
	address, release, err := short(path)
	if err != nil {
		return nil, err
	}
	defer release()
	old := syscall.Umask(0o177)
	l, err := net.Listen("unix", address)
	syscall.Umask(old)
	if err != nil {
		return nil, err
	}
	if u, ok := l.(*net.UnixListener); ok {
		u.SetUnlinkOnClose(false) // Close does, by its real path
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// refused reports whether nobody listens on the socket.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
