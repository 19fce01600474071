// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// kind is how something is there in the root of a process in namespaces of its own.
type kind int

const (
	// hidden is an empty place where something lies that the process is not to see.
	hidden kind = iota + 1
	readOnly
	writable
	device
)

// place is one path of that root.
type place struct {
	path string
	kind kind
}

func (a Access) kind() kind {
	switch a {
	case Device:
		return device
	case Write, Own:
		return writable
	default:
		return readOnly
	}
}

// view is what there is in the root, from above to below: what the rules lead to, and
// nothing where something is hidden in it. Whoever asks for a file that is not there
// looks at what lies around it, as SQLite does for what others write: it sees the
// directory, as far as there is one. /proc is none of it.
func (p *Policy) view(exists func(path string) bool) []place {
	kinds := map[string]kind{}
	add := func(at string, k kind) {
		if at != "/" && !within(at, "/proc") {
			kinds[at] = max(kinds[at], k)
		}
	}
	for _, r := range p.Rules {
		switch dir := path.Dir(r.Path); {
		case exists(r.Path):
			add(r.Path, r.Access.kind())
		case exists(dir):
			add(dir, readOnly)
		}
	}
	for _, at := range p.Hidden {
		if kinds[at] == 0 {
			add(at, hidden)
		}
	}
	all := make([]place, 0, len(kinds))
	for at, k := range kinds {
		all = append(all, place{at, k})
	}
	// Not by the text: a-b stands between a and a/b.
	slices.SortFunc(all, func(a, b place) int {
		return slices.Compare(strings.Split(a.path, "/"), strings.Split(b.path, "/"))
	})
	var out, above []place
	for _, one := range all {
		for len(above) > 0 && !within(one.path, above[len(above)-1].path) {
			above = above[:len(above)-1]
		}
		over := kind(0) // nothing is there
		if len(above) > 0 {
			over = cmp.Or(above[len(above)-1].kind, over)
		}
		covered := one.kind == over || one.kind == readOnly && over == writable
		invisible := one.kind == hidden && (over == 0 || over == hidden || !exists(one.path))
		if covered || invisible {
			continue
		}
		above, out = append(above, one), append(out, one)
	}
	return out
}

// within reports whether a path is dir or lies in it.
func within(at, dir string) bool { return at == dir || strings.HasPrefix(at, dir+"/") }

// maxLinks is how many links one path may consist of.
const maxLinks = 40

// link is a symbolic link.
type link struct{ path, target string }

// links are those that a path goes through, in their order. read returns the target of
// one, "" if it is none.
func links(named string, read func(path string) string) []link {
	var all []link
	done, rest := "/", named
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(strings.TrimLeft(rest, "/"), "/")
		switch name {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			continue
		}
		at := path.Join(done, name)
		target := read(at)
		if target == "" {
			done = at
			continue
		}
		if all = append(all, link{at, target}); len(all) == maxLinks {
			return all
		}
		if strings.HasPrefix(target, "/") {
			done = "/"
		}
		rest = target + "/" + rest
	}
	return all
}
