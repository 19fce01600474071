// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/pin"
)

// runPrefix begins the names of directories for plugins' sockets. They lie in
// the temporary directory, since a socket's path has at most some 100 bytes.
const runPrefix = "toolwharf-"

// makeRunDir makes this host's directory, and sweeps those of hosts that were
// killed.
func makeRunDir() (string, error) {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), runPrefix+"*"))
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), runPrefix), "-")
		if n, err := strconv.Atoi(pid); err == nil && n != os.Getpid() && !alive(n) && isOwn(dir) {
			_ = pin.Remove(dir)
		}
	}
	return os.MkdirTemp("", fmt.Sprintf("%s%d-", runPrefix, os.Getpid()))
}
