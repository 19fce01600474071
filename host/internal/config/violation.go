// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	violated "github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// judge validates the tree against the schema and reports every violation in
// our words, with its key and line.
func judge(c contract, root *node, faults *report) {
	err := c.compiled.Validate(root.tree())
	if err == nil {
		return
	}
	v := violations{root: root, shape: c.root, faults: faults}
	if e, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		v.explain(e)
		return
	}
	faults.refuse("", position{}, "", "cannot be validated")
}

// violations turns validation errors into faults.
type violations struct {
	root   *node
	shape  shape
	faults *report
}

// place is where a violation is: the node, its schema, its path.
type place struct {
	node   *node
	shape  shape
	parent shape
	key    string // last segment; empty at the root
	path   string
}

// locate follows an instance location through file and schema. ok is false
// below a node that was reported already.
func (v *violations) locate(location []string) (p place, ok bool) {
	n, _, sound := v.root.find(location)
	if !sound {
		return place{}, false
	}
	p = place{node: n, shape: v.shape, path: v.root.keyPath(location)}
	at := v.root
	for _, segment := range location {
		p.parent, p.key = p.shape, segment
		p.shape = p.shape.child(at.kind, segment)
		if at = at.child(segment); at == nil {
			break
		}
	}
	return p, true
}

func (v *violations) explain(e *jsonschema.ValidationError) {
	if v.faults.full() {
		v.faults.more++
		return
	}
	switch k := e.ErrorKind.(type) {
	case *violated.Schema, *violated.Group, *violated.Reference, *violated.AllOf:
		for _, cause := range e.Causes {
			v.explain(cause)
		}
		return
	case *violated.AnyOf:
		v.anyOf(e)
		return
	case *violated.PropertyNames:
		// Reported by names: the library's location of this one kind shares
		// memory with its siblings'.
		return
	case *violated.Required:
		if p, ok := v.locate(e.InstanceLocation); ok {
			for _, name := range k.Missing {
				v.missing(p, name)
			}
		}
		return
	case *violated.AdditionalProperties:
		if p, ok := v.locate(e.InstanceLocation); ok {
			for _, name := range k.Properties {
				if v.faults.full() {
					v.faults.more++
					continue
				}
				f := p.node.child(name)
				v.faults.refuse(join(p.path, name), f.at(), suggest(name, p.shape.known()), "is not a known key")
			}
		}
		return
	}
	p, ok := v.locate(e.InstanceLocation)
	if !ok {
		return
	}
	v.value(p, e.ErrorKind)
}

// anyOf explains the alternatives that accept the value's type: a wrong key in
// a map form is about that key, not about a text that could stand there too.
func (v *violations) anyOf(e *jsonschema.ValidationError) {
	var wrong []*jsonschema.ValidationError
	var mismatch *jsonschema.ValidationError
	for _, cause := range e.Causes {
		leaf := cause
		for len(leaf.Causes) == 1 && len(leaf.InstanceLocation) == len(e.InstanceLocation) {
			if _, ok := leaf.ErrorKind.(*violated.Reference); !ok {
				break
			}
			leaf = leaf.Causes[0]
		}
		if _, ok := leaf.ErrorKind.(*violated.Type); ok && len(leaf.InstanceLocation) == len(e.InstanceLocation) {
			mismatch = leaf
			continue
		}
		wrong = append(wrong, cause)
	}
	if len(wrong) == 0 && mismatch != nil {
		wrong = append(wrong, mismatch)
	}
	for _, cause := range wrong {
		v.explain(cause)
	}
}

// missing reports a key that must be there.
func (v *violations) missing(p place, name string) {
	key, _ := p.shape.property(name)
	v.faults.refuse(join(p.path, name), p.node.at(), key.word("description"), "is missing")
}

// value reports a value that its own schema refuses.
func (v *violations) value(p place, k jsonschema.ErrorKind) {
	if p.node.kind == null && slices.Contains(p.parent.known(), p.key) {
		// A key without a value is as good as absent.
		if p.parent.requires(p.key) {
			v.faults.refuse(p.path, p.node.at(), p.shape.word("description"), "is missing")
		}
		return
	}
	refuse := func(detail, format string, args ...any) {
		if !p.shape.flag("writeOnly") && p.node.kind != mapping && p.node.kind != list {
			format += ", is %s"
			args = append(args, p.node.shown())
		}
		v.faults.refuse(p.path, p.node.at(), detail, format, args...)
	}
	fits := p.shape.branch(p.node.kind)
	switch k := k.(type) {
	case *violated.Type:
		detail := ""
		if p.node.kind != mapping && p.node.kind != list {
			if strings.HasPrefix(fits.expects(), "text") {
				detail = "put it in quotes"
			}
			refuse(detail, "must be %s", p.shape.expects())
			return
		}
		v.faults.refuse(p.path, p.node.at(), detail, "must be %s, is %s", p.shape.expects(), p.node.shown())
	case *violated.Enum:
		refuse(didYouMean(p.node.scalar, fits.texts()), "must be %s", fits.expects())
	case *violated.Pattern:
		refuse("", "must be %s", fits.expects())
	case *violated.Minimum:
		refuse("", "must be at least %s", decimal(k.Want))
	case *violated.ExclusiveMinimum:
		refuse("", "must be more than %s", decimal(k.Want))
	case *violated.Maximum:
		refuse("", "must be at most %s", decimal(k.Want))
	case *violated.MinLength:
		v.faults.refuse(p.path, p.node.at(), "", "must not be empty")
	case *violated.MaxLength:
		v.faults.refuse(p.path, p.node.at(), "", "must have at most %d characters, has %d", k.Want, k.Got)
	case *violated.MinItems:
		v.faults.refuse(p.path, p.node.at(), "", "must not be an empty list")
	case *violated.UniqueItems:
		second := p.node.child(itoa(k.Duplicates[1]))
		v.faults.refuse(index(p.path, k.Duplicates[1]), second.at(), "remove it", "repeats item %d", k.Duplicates[0])
	default:
		v.faults.refuse(p.path, p.node.at(), "", "is refused by the schema (%s)", strings.Join(k.KeywordPath(), "/"))
	}
}

func decimal(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	return r.FloatString(3)
}
