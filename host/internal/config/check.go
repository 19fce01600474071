// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

// checker makes the checks that no schema can: those of one key against
// another, against the machine, and against what the host can do.
type checker struct {
	cfg    *Config
	root   *node
	faults *report
}

func (c checker) check() {
	c.adapters()
	c.limits()
	c.servers()
	c.prefixes()
	c.rules()
	c.hooks()
	c.approval()
	c.paths()
	c.http()
	c.auth()
	c.built()
}

// refuse reports a fault at a location of the file; at the nearest key above
// when the location is not in the file.
func (c checker) refuse(location []string, detail, format string, args ...any) {
	n, _, sound := c.root.find(location)
	if !sound {
		return
	}
	c.faults.refuse(c.root.keyPath(location), n.at(), detail, format, args...)
}

// has reports whether the file has a value there.
func (c checker) has(location ...string) bool {
	n, whole, sound := c.root.find(location)
	return whole && sound && n.kind != null
}
