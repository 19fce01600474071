// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"slices"
	"strings"
)

// clean is a name as clients see it: characters beyond their alphabet become _.
func clean(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

// prefixed is an adapter or a server with the prefix of its public names.
type prefixed struct {
	location []string
	given    bool // by the file
	prefix   string
	public   string // as clients see it
}

// prefixes refuses a prefix that begins with another's, both as clients see
// them: a rule for "orders_*" would also cover the tools of "orders_eu_". The
// empty prefix begins every other and is left out; its tools may still collide
// with others, which is known only when the adapters have started.
func (c checker) prefixes() {
	var all []prefixed
	add := func(section, name, prefix string, n *node) {
		if n == nil || n.kind != mapping || prefix == "" {
			return
		}
		all = append(all, prefixed{[]string{section, name}, n.field("prefix") != nil, prefix, clean(prefix)})
	}
	for _, a := range c.cfg.Adapters {
		add("adapters", a.Name, a.Prefix, a.source.node)
	}
	for _, s := range c.cfg.Servers {
		if !s.Disabled {
			add("mcpServers", s.Name, s.Prefix, s.source.node)
		}
	}
	slices.SortStableFunc(all, func(a, b prefixed) int { return cmp.Compare(a.public, b.public) })
	var above []prefixed // prefixes that begin the current one, shortest first
	for _, p := range all {
		for len(above) > 0 && !strings.HasPrefix(p.public, above[len(above)-1].public) {
			above = above[:len(above)-1]
		}
		if len(above) > 0 {
			c.extends(p, above[len(above)-1])
		}
		above = append(above, p)
	}
}

func (c checker) extends(p, other prefixed) {
	if p.given || !other.given {
		c.extension(p, other)
		return
	}
	// The default cannot be wrong; the one that was written is.
	c.extension(other, p)
}

func (c checker) extension(p, other prefixed) {
	relation := "begins with"
	if len(p.public) < len(other.public) {
		relation = "begins"
	}
	if p.public == other.public {
		relation = "is"
	}
	c.refuse(append(p.location, "prefix"), "give one of them a prefix that does not begin with the other's",
		"prefix %q %s the prefix %q of %s", p.prefix, relation, other.prefix, c.root.keyPath(other.location))
}
