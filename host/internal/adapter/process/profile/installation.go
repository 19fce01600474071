// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// maxLinks is how many links one path may consist of.
const maxLinks = 40

// installation adds the libraries that lie beside a program, as they do beside
// an interpreter: PREFIX/bin/python3 has PREFIX/lib/python3.12. A virtual
// environment is a chain of links from one installation to the next, and each
// counts. Of the system's own, this adds nothing that libraries does not.
func (l *list) installation(path string) {
	for range maxLinks {
		if dir := filepath.Dir(path); filepath.Base(dir) == "bin" {
			prefix := filepath.Dir(dir)
			if !slices.Contains([]string{"/", "/usr", "/usr/local"}, prefix) {
				for _, part := range []string{"lib", "lib64", "libexec", "share", "conf", "include", "pyvenv.cfg", "release"} {
					l.add(sandbox.Read, filepath.Join(prefix, part))
				}
			}
		}
		target, err := os.Readlink(path)
		if err != nil {
			return
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
}
