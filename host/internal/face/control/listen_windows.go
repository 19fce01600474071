// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"net"

	"golang.org/x/sys/windows"
)

// listen opens the socket; its directory's access list guards it.
func listen(path string) (net.Listener, error) { return net.Listen("unix", path) }

// refused reports whether nobody listens on the socket.
func refused(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }
