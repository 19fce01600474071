// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// FileName is the lock's, beside the configuration.
const FileName = "toolwharf.lock"

// maxFile bounds a lock, in bytes.
const maxFile = 16 << 20

// Lock is what an operator has accepted: programs, and what the tools of each
// adapter say of themselves.
type Lock struct {
	// Plugins are by name.
	Plugins map[string]Program
	// Adapters are by name, their tools by declared name.
	Adapters map[string]Tools
}

// Tools are the fingerprints of one adapter's tools, by declared name.
type Tools map[string]Fingerprint

// Program is one program that may run.
type Program struct {
	Folder bool
	Hash   tool.Digest
}

// Kind is what a program is called.
func (p Program) Kind() string {
	if p.Folder {
		return "folder"
	}
	return "executable"
}

// NewLock is a lock that names nothing.
func NewLock() *Lock {
	return &Lock{Plugins: map[string]Program{}, Adapters: map[string]Tools{}}
}

// Clone is a deep copy.
func (l *Lock) Clone() *Lock {
	c := &Lock{Plugins: maps.Clone(l.Plugins), Adapters: make(map[string]Tools, len(l.Adapters))}
	for name, tools := range l.Adapters {
		c.Adapters[name] = maps.Clone(tools)
	}
	return c
}

// Names of plugins, adapters and tools, and those that YAML needs no quotes for.
var (
	named    = regexp.MustCompile(`^[A-Za-z0-9 ._@/-]{1,128}$`)
	bareName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
)

const header = "# Written by `toolwharf plugins pin`: which programs may run, and what their tools may\n" +
	"# claim. Review a change of it like one of toolwharf.yaml.\n"

// Text is the lock as it is written: names sorted, one line for each plugin and
// each tool, so that a change is a change of lines.
func (l *Lock) Text() []byte {
	var b strings.Builder
	b.WriteString(header + "version: 1\n")
	section(&b, "plugins", len(l.Plugins))
	for _, plugin := range slices.Sorted(maps.Keys(l.Plugins)) {
		p := l.Plugins[plugin]
		fmt.Fprintf(&b, "  %s: {kind: %s, hash: %s}\n", key(plugin), p.Kind(), p.Hash)
	}
	section(&b, "adapters", len(l.Adapters))
	for _, adapter := range slices.Sorted(maps.Keys(l.Adapters)) {
		tools := l.Adapters[adapter]
		if len(tools) == 0 {
			fmt.Fprintf(&b, "  %s: {}\n", key(adapter))
			continue
		}
		fmt.Fprintf(&b, "  %s:\n", key(adapter))
		for _, t := range slices.Sorted(maps.Keys(tools)) {
			f := tools[t]
			fmt.Fprintf(&b, "    %s: {effects: %s, idempotent: %v, confirm: %s, spec: %s}\n",
				key(t), word(string(f.Effects)), f.Idempotent, word(string(f.Confirm)), f.Spec)
		}
	}
	return []byte(b.String())
}

func section(b *strings.Builder, name string, n int) {
	b.WriteString(name + ":")
	if n == 0 {
		b.WriteString(" {}")
	}
	b.WriteByte('\n')
}

// key writes a name as a YAML key.
func key(s string) string {
	if bareName.MatchString(s) {
		return s
	}
	return `"` + s + `"`
}

// word writes a value that may be unset.
func word(s string) string {
	if s == "" {
		return unset
	}
	return s
}

const unset = "unset"
