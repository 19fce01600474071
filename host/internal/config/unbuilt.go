// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

// notBuilt are the keys that the schema describes and the host does nothing about
// yet, each with what to do. Such a key is refused, never ignored: whoever writes one
// must not find out from an incident that it did nothing.
var notBuilt = []struct {
	key    string
	fine   string // the value that is nevertheless built
	advice string
}{
	{key: "mcpServers", advice: "remove it; no MCP server is imported"},
	{key: "store", fine: "sqlite", advice: "use sqlite, which is a file in the state directory"},
}

// built refuses what is not.
func (c checker) built() {
	if c.root.kind != mapping {
		return
	}
	for _, u := range notBuilt {
		n := c.root.field(u.key)
		if n == nil || n.bad || n.kind == null || u.fine != "" && n.scalar == u.fine {
			continue
		}
		c.faults.refuse(c.root.keyPath([]string{u.key}), n.at(), u.advice, "is not built yet")
	}
}
