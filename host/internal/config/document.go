// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds of one file.
const (
	maxFile  = 1 << 20
	maxDepth = 64
	maxNodes = 100_000
)

// read turns a file into nodes. nil means that the file is no YAML, or too
// large, and that nothing more can be said about it.
func read(data []byte, faults *report) *node {
	if len(data) > maxFile {
		faults.refuse("", position{}, "", "is larger than 1 MiB")
		return nil
	}
	var first, second yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&first); err != nil {
		if errors.Is(err, io.EOF) {
			return &node{kind: mapping}
		}
		malformed(err, faults)
		return nil
	}
	if err := dec.Decode(&second); err == nil {
		faults.refuse("", position{second.Line, second.Column}, "remove the `---` and what follows", "holds more than one YAML document")
		return nil
	} else if !errors.Is(err, io.EOF) {
		malformed(err, faults)
		return nil
	}
	if len(first.Content) == 0 {
		return &node{kind: mapping}
	}
	b := builder{faults: faults}
	root := b.node(first.Content[0], "", 1)
	if b.nodes > maxNodes {
		faults.refuse("", position{}, "", "holds more than 100,000 values")
		return nil
	}
	if root.kind == null {
		root.kind = mapping
	}
	return root
}

var yamlError = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)

// malformed reports what the YAML parser says. It stops at its first fault;
// nothing after it could be trusted.
func malformed(err error, faults *report) {
	var at position
	what := err.Error()
	if m := yamlError.FindStringSubmatch(what); m != nil {
		at.line, _ = strconv.Atoi(m[1])
		what = m[2]
	}
	what = strings.Join(strings.Fields(what), " ")
	detail := ""
	if strings.Contains(what, "cannot start any token") {
		detail = "indent with blanks, not tabs, and quote text that starts with a special character"
	}
	faults.refuse("", at, detail, "is not valid YAML: %s", what)
}

// builder turns YAML nodes into ours.
type builder struct {
	faults *report
	nodes  int
}

func (b *builder) node(y *yaml.Node, path string, depth int) *node {
	n := &node{value: position{y.Line, y.Column}}
	return b.fill(n, y, path, depth)
}

func (b *builder) fill(n *node, y *yaml.Node, path string, depth int) *node {
	refuse := func(detail, format string, args ...any) *node {
		b.faults.refuse(path, n.at(), detail, format, args...)
		n.bad = true
		return n
	}
	if b.nodes++; b.nodes > maxNodes {
		n.bad = true
		return n
	}
	if depth > maxDepth {
		return refuse("", "is nested deeper than %d levels", maxDepth)
	}
	switch y.Kind {
	case yaml.DocumentNode: // only at the root, which read has opened
	case yaml.AliasNode:
		// An alias can make a small file expand without end, and a fault in it
		// would have two places.
		return refuse("write the value out", "an alias (*%s) is not supported", cut(y.Value))
	case yaml.ScalarNode:
		var problem string
		if n.kind, n.scalar, problem = resolve(y); problem != "" {
			return refuse("", "%s", problem)
		}
		return n
	case yaml.SequenceNode:
		n.kind = list
		for i, item := range y.Content {
			n.items = append(n.items, b.node(item, index(path, i), depth+1))
		}
	case yaml.MappingNode:
		n.kind = mapping
		n.fields = make(map[string]*node, len(y.Content)/2)
		for i := 0; i+1 < len(y.Content); i += 2 {
			b.entry(n, y.Content[i], y.Content[i+1], path, depth)
		}
	}
	if y.Style&yaml.TaggedStyle != 0 && y.Tag != "!!seq" && y.Tag != "!!map" {
		return refuse("", "the tag %q is not supported", cut(y.Tag))
	}
	return n
}

// entry adds one key and its value to the mapping n.
func (b *builder) entry(n *node, key, value *yaml.Node, path string, depth int) {
	at := position{key.Line, key.Column}
	if key.Kind != yaml.ScalarNode {
		b.faults.refuse(join(path, "?"), at, "", "a key must be text")
		return
	}
	here := join(path, key.Value)
	if key.Value == "<<" && key.Style == 0 {
		b.faults.refuse(here, at, "write the values out", "a merge key (<<) is not supported")
		return
	}
	if earlier := n.fields[key.Value]; earlier != nil {
		b.faults.refuse(here, at, "keep one of them", "the key stands twice, first in line %d", earlier.at().line)
		return
	}
	f := &node{key: at, value: position{value.Line, value.Column}}
	n.keys = append(n.keys, key.Value)
	n.fields[key.Value] = f
	b.fill(f, value, here, depth+1)
}
