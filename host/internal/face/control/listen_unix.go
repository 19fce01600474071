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
	old := syscall.Umask(0o177)
	l, err := net.Listen("unix", path)
	syscall.Umask(old)
	if err != nil {
		return nil, err //nolint:wrapcheck // worded by the caller
	}
	return l, os.Chmod(path, 0o600) //nolint:wrapcheck // worded by the caller
}

// refused reports whether nobody listens on the socket.
func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
