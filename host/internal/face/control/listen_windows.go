// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import "net"

// listen opens the socket; its directory's access list guards it.
func listen(path string) (net.Listener, error) { return net.Listen("unix", path) }
