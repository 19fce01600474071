// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"slices"
	"strconv"
)

// unbuilt is a key that is described and not done yet.
type unbuilt struct {
	key    []string                      // * is any name
	when   func(c checker, n *node) bool // nil: whatever its value
	advice string
}

// notBuilt is everything that the schema describes and the host does not do
// yet. Such a key is refused, never ignored: whoever writes `deny` must not
// find out from an incident that nothing was denied. A feature that lands takes
// its lines out, and nothing else changes here.
var notBuilt = []unbuilt{
	{key: keys("mcpServers"), advice: "remove it; no MCP server is imported"},
	{key: keys("store"), when: not("sqlite"), advice: "use sqlite, which is a file in the state directory"},
	{key: keys("adapters", "*", "may_ask"), when: not("false"), advice: "remove it"},
	{key: keys("adapters", "*", "allow_urls"), when: not("false"), advice: "remove it"},
}

func keys(k ...string) []string { return k }

// not holds for every value but these.
func not(fine ...string) func(checker, *node) bool {
	return func(_ checker, n *node) bool { return !slices.Contains(fine, n.scalar) }
}

// built refuses what is not.
func (c checker) built() {
	for _, u := range notBuilt {
		c.unbuilt(u, u.key, nil, c.root)
	}
}

// unbuilt follows the rest of an entry's key from n.
func (c checker) unbuilt(u unbuilt, rest, location []string, n *node) {
	switch {
	case n == nil || n.bad || n.kind == null:
	case len(rest) == 0:
		if u.when == nil || u.when(c, n) {
			c.faults.refuse(c.root.keyPath(location), n.at(), u.advice, "is not built yet")
		}
	case rest[0] == "*" && len(n.items) > 0:
		for i, item := range n.items {
			c.unbuilt(u, rest[1:], append(slices.Clone(location), strconv.Itoa(i)), item)
		}
	case rest[0] == "*":
		for _, key := range n.keys {
			c.unbuilt(u, rest[1:], append(slices.Clone(location), key), n.fields[key])
		}
	case n.kind == mapping:
		c.unbuilt(u, rest[1:], append(slices.Clone(location), rest[0]), n.field(rest[0]))
	case n.kind == text && len(rest) == 1 && rest[0] == "mode":
		// approval: deferred is short for approval: {mode: deferred}.
		c.unbuilt(u, nil, location, n)
	}
}
