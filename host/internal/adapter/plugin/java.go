// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"path/filepath"
)

// isJava reports whether a program is the launcher of a Java virtual machine.
func isJava(path string) bool {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return filepath.Base(path) == "java"
}

// javaOptions are what a virtual machine has to be told by a variable of its own: it
// heeds neither HOME nor TMPDIR, wants to keep statistics of itself in /tmp, and looks
// for the limit of its memory where no plugin may look. It writes to stderr that it
// has picked them up.
func javaOptions(home, tmp string, memory int64) string {
	options := fmt.Sprintf(`JDK_JAVA_OPTIONS=-XX:-UsePerfData "-Duser.home=%s" "-Djava.io.tmpdir=%s"`, home, tmp)
	if memory > 0 {
		options += fmt.Sprintf(" -XX:MaxRAM=%d", memory)
	}
	return options
}
