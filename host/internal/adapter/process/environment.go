// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// reserved are variables that an adapter's `env:` may not set: they would
// change what is executed, or forge the handshake.
var reserved = []string{
	"LD_", "DYLD_", "PYTHON", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "PLUGIN_", "TOOLWHARF_",
}

// Environment is the whole environment of a plugin: the handshake, the bounds
// of its runtime, and the adapter's own variables; nothing of the host's. memory is
// what it may have, in bytes; 0: that is not limited.
func Environment(handshake []string, own map[string]string, memory int64) ([]string, error) {
	env := slices.Clone(handshake)
	if _, set := own["GOMAXPROCS"]; !set {
		// Measured: one thread of Go code is faster for small plugins, whose
		// calls otherwise wake idle threads.
		env = append(env, "GOMAXPROCS=1")
	}
	if _, set := own["GOMEMLIMIT"]; !set {
		limit := "256MiB"
		if memory > 0 { // what is left is for what the collector does not see
			limit = strconv.FormatInt(memory/10*9, 10)
		}
		env = append(env, "GOMEMLIMIT="+limit)
	}
	names := make([]string, 0, len(own))
	for name := range own {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(own[name], "\x00") {
			return nil, fmt.Errorf("env: %q cannot be a variable", name)
		}
		for _, r := range reserved {
			if strings.HasPrefix(strings.ToUpper(name), r) {
				return nil, fmt.Errorf("env: %s may not be set: names that begin with %s are the host's", name, r)
			}
		}
		env = append(env, name+"="+own[name])
	}
	return env, nil
}
