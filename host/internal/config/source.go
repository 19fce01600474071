// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/fault"
)

// source is where a value of the configuration comes from. The zero source is
// nowhere: an adapter that no file names.
type source struct {
	file string
	path string
	node *node
}

// At is a Fault at an RFC 6901 pointer into the adapter's configuration, with
// file, key path and line filled in: a plugin's diagnostic needs only its texts
// added. A pointer that leads nowhere, such as one to a missing key, has the
// line of what lacks it.
func (a *Adapter) At(pointer string) fault.Fault {
	var location []string
	if pointer != "" {
		location = strings.Split(strings.TrimPrefix(pointer, "/"), "/")
		for i, token := range location {
			location[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		}
	}
	location = append([]string{"config"}, location...)
	f := fault.Fault{File: a.source.file, Path: a.path(location)}
	if a.source.node != nil {
		n, _, _ := a.source.node.find(location)
		f.Line, f.Column = n.at().line, n.at().column
	}
	return f
}

// AtKey is a Fault at a key of the adapter itself, such as "plugin"; at the
// adapter's name when the key is empty or absent.
func (a *Adapter) AtKey(key string) fault.Fault {
	var location []string
	if key != "" {
		location = []string{key}
	}
	f := fault.Fault{File: a.source.file, Path: a.path(location)}
	if a.source.node != nil {
		n, _, _ := a.source.node.find(location)
		f.Line, f.Column = n.at().line, n.at().column
	}
	return f
}

func (a *Adapter) path(location []string) string {
	base := a.source.path
	if base == "" {
		base = join("adapters", a.Name)
	}
	if len(location) == 0 {
		return base
	}
	below := a.source.node.keyPath(location)
	return base + "." + below
}
