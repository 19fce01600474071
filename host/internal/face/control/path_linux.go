// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"
	"os"
	"path/filepath"
)

// maxPath is what fits into sockaddr_un (unix(7)), with its end.
const maxPath = 107

// short returns a name for the socket at path that fits into an address, good
// until release: a deep state directory is no reason not to serve.
func short(path string) (address string, release func(), err error) {
	if len(path) <= maxPath {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { _ = dir.Close() }, nil
}
