// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"math/big"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"
)

// decoder fills structs from nodes by their `key` tags. It is lenient: what
// does not fit has been reported by the schema and leaves its field alone, so
// that the checks behind it still see the rest of the file.
//
// A tag is a key, or a key and one below it (`sandbox.mode`), and options:
// short: a scalar in place of the mapping stands for this key; path: made
// absolute; size: bytes.
type decoder struct {
	file string
	dir  string
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	anyType      = reflect.TypeFor[any]()
)

// named is an element of a list that the file writes as a mapping by name.
type named interface{ place(name string, at source) }

// placed is an element of a list that wants to know its line.
type placed interface{ placeAt(line int) }

func (a *Adapter) place(name string, at source) {
	a.Name, a.Line, a.source = name, at.node.at().line, at
	if a.Config == nil {
		a.Config = map[string]any{}
	}
	if at.node.field("prefix") == nil {
		a.Prefix = name + "_"
	}
}

func (s *Server) place(name string, at source) {
	s.Name, s.Line, s.source = name, at.node.at().line, at
	if at.node.field("prefix") == nil {
		s.Prefix = clean(name) + "_"
	}
}

func (r *Rule) placeAt(line int) { r.Line = line }

func (d decoder) decode(v reflect.Value, n *node, s shape, path string, options []string) {
	if n == nil || n.kind == null || n.bad {
		return
	}
	switch {
	case v.Type() == durationType:
		v.SetInt(int64(duration(n)))
		return
	case v.Type() == anyType:
		v.Set(reflect.ValueOf(n.tree()))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		d.decode(p.Elem(), n, s, path, options)
		v.Set(p)
	case reflect.Struct:
		d.decodeStruct(v, n, s, path)
	case reflect.Slice:
		d.decodeSlice(v, n, s, path, options)
	case reflect.Map:
		d.decodeMap(v, n, s, path)
	case reflect.String:
		if n.kind == text || n.kind == number || n.kind == boolean {
			v.SetString(d.text(n.scalar, options))
		}
	case reflect.Bool:
		v.SetBool(n.kind == boolean && n.scalar == "true")
	case reflect.Int, reflect.Int64:
		if slices.Contains(options, "size") {
			bytes, _ := size(n.scalar)
			v.SetInt(bytes)
		} else if r := rational(n); r != nil && r.IsInt() && r.Num().IsInt64() {
			v.SetInt(r.Num().Int64())
		}
	}
}

func (d decoder) decodeStruct(v reflect.Value, n *node, s shape, path string) {
	if n.kind == list {
		n = &node{kind: mapping} // the wrong thing has the defaults
	}
	for i := range v.NumField() {
		tag, ok := v.Type().Field(i).Tag.Lookup("key")
		if !ok {
			continue
		}
		parts := strings.Split(tag, ",")
		keys, options := strings.Split(parts[0], "."), parts[1:]
		field, fieldShape, fieldPath := n, s, path
		for _, key := range keys {
			field, fieldShape = step(field, fieldShape, key, slices.Contains(options, "short"))
			fieldPath = join(fieldPath, key)
		}
		target := v.Field(i)
		if field == nil && target.Kind() == reflect.Struct {
			field = &node{kind: mapping} // its keys have defaults of their own
		}
		d.decode(target, field, fieldShape, fieldPath, options)
	}
}

// step goes from a mapping to the value of a key or to its default. A scalar
// where the mapping could stand is the value of its short key.
func step(n *node, s shape, key string, short bool) (*node, shape) {
	below, _ := s.property(key)
	if n != nil && n.kind != mapping {
		if short && n.kind != list {
			return n, below
		}
		n = nil
	}
	if field := n.field(key); field != nil {
		return field, below
	}
	if v, ok := below.keywords["default"]; ok {
		return nodeOf(v), below
	}
	return nil, below
}

func (d decoder) decodeSlice(v reflect.Value, n *node, s shape, path string, options []string) {
	elem := v.Type().Elem()
	if n.kind == mapping {
		keys := slices.Sorted(slices.Values(n.keys))
		out := reflect.MakeSlice(v.Type(), 0, len(keys))
		for _, key := range keys {
			field, below := n.fields[key], join(path, key)
			item, _ := s.property(key)
			e := reflect.New(elem)
			if field.kind == mapping {
				d.decode(e.Elem(), field, item, below, nil)
			}
			if e, ok := reflect.TypeAssert[named](e); ok {
				e.place(key, source{d.file, below, field})
			}
			out = reflect.Append(out, e.Elem())
		}
		v.Set(out)
		return
	}
	if n.kind != list {
		return
	}
	item, _ := s.item()
	out := reflect.MakeSlice(v.Type(), 0, len(n.items))
	for i, field := range n.items {
		e := reflect.New(elem)
		d.decode(e.Elem(), field, item, index(path, i), options)
		if e, ok := reflect.TypeAssert[placed](e); ok {
			e.placeAt(field.at().line)
		}
		out = reflect.Append(out, e.Elem())
	}
	v.Set(out)
}

func (d decoder) decodeMap(v reflect.Value, n *node, s shape, path string) {
	if n.kind != mapping {
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), len(n.keys))
	for _, key := range n.keys {
		item, _ := s.property(key)
		e := reflect.New(v.Type().Elem()).Elem()
		d.decode(e, n.fields[key], item, join(path, key), nil)
		out.SetMapIndex(reflect.ValueOf(key), e)
	}
	v.Set(out)
}

func (d decoder) text(s string, options []string) string {
	if !slices.Contains(options, "path") || s == "" {
		return s
	}
	if filepath.IsAbs(s) {
		return filepath.Clean(s)
	}
	return filepath.Join(d.dir, s)
}

// duration reads 30s; a number, where the schema lets one stand, counts
// milliseconds.
func duration(n *node) time.Duration {
	if n.kind == number {
		if r := rational(n); r != nil && r.IsInt() && r.Num().IsInt64() && r.Num().Int64() < int64(maxDuration/time.Millisecond) {
			return time.Duration(r.Num().Int64()) * time.Millisecond
		}
		return 0
	}
	t, _ := time.ParseDuration(n.scalar)
	return t
}

func rational(n *node) *big.Rat {
	if n.kind != number {
		return nil
	}
	r, ok := new(big.Rat).SetString(n.scalar)
	if !ok {
		return nil
	}
	return r
}
