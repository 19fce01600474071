// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"reflect"
	"slices"
	"strings"
)

// onlyByRestart are the keys that hold from start to end. The rest changes while
// the host runs. An asterisk is any name.
var onlyByRestart = []string{
	"name", "version", "state", "store", "plugins.trust", "approval", "http", "ledger", "log",
	"adapters.*.sandbox.mode", "adapters.*.sandbox.allow", "mcpServers.*.sandbox.mode", "mcpServers.*.sandbox.allow",
}

// Reload is what comes of a file that is read while a host runs.
type Reload struct {
	// Config is the file, but what needs a restart is as it was.
	Config *Config
	// Changed are the keys in which it differs from what held before, Restart
	// those in which the file differs and that change by a restart only.
	Changed, Restart []string
}

// Reload compares the configuration that holds with the one of the file. Neither
// is changed.
func (c *Config) Reload(file *Config) Reload {
	next := *file
	next.Adapters, next.Servers = slices.Clone(file.Adapters), slices.Clone(file.Servers)
	r := Reload{Config: &next}
	r.compare(reflect.ValueOf(c).Elem(), reflect.ValueOf(&next).Elem(), "", "")
	return r
}

// compare compares two values of one type at path, of which pattern is the path
// without names. What needs a restart is taken from was.
func (r *Reload) compare(was, is reflect.Value, path, pattern string) {
	if slices.Contains(onlyByRestart, pattern) {
		r.Restart = append(r.Restart, differences(was, is, path)...)
		is.Set(was)
		return
	}
	switch {
	case pattern == "" || is.Kind() == reflect.Struct:
		for f, field := range is.Fields() {
			if key := keyOf(f); key != "" {
				r.compare(was.FieldByIndex(f.Index), field, below(path, key), below(pattern, key))
			}
		}
	case is.Kind() == reflect.Slice && byName(is.Type()):
		r.compareByName(was, is, path, pattern)
	default:
		r.Changed = append(r.Changed, differences(was, is, path)...)
	}
}

// compareByName compares lists whose elements have names.
func (r *Reload) compareByName(was, is reflect.Value, path, pattern string) {
	before := map[string]reflect.Value{}
	for i := range was.Len() {
		before[was.Index(i).FieldByName("Name").String()] = was.Index(i)
	}
	for i := range is.Len() {
		name := is.Index(i).FieldByName("Name").String()
		old, known := before[name]
		if !known {
			r.Changed = append(r.Changed, join(path, name))
			continue
		}
		delete(before, name)
		r.compare(old, is.Index(i), join(path, name), pattern+".*")
	}
	for i := range was.Len() { // in their order
		if name := was.Index(i).FieldByName("Name").String(); before[name].IsValid() {
			r.Changed = append(r.Changed, join(path, name))
		}
	}
}

// differences are the keys at and below path in which two values of one type
// differ. Where they stand in their files is no difference.
func differences(a, b reflect.Value, path string) []string {
	var out []string
	switch {
	case a.Kind() == reflect.Pointer && !a.IsNil() && !b.IsNil():
		return differences(a.Elem(), b.Elem(), path)
	case a.Kind() == reflect.Struct:
		for f, field := range a.Fields() {
			if key := keyOf(f); key != "" {
				out = append(out, differences(field, b.FieldByIndex(f.Index), below(path, key))...)
			}
		}
	case a.Kind() == reflect.Slice && a.Type().Elem().Kind() == reflect.Struct && a.Len() == b.Len():
		for i := range a.Len() {
			if len(differences(a.Index(i), b.Index(i), path)) > 0 {
				return []string{path}
			}
		}
	case a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0: // nil or not
	case !reflect.DeepEqual(a.Interface(), b.Interface()):
		return []string{path}
	}
	return out
}

// keyOf is the key that a field holds, empty if it holds none.
func keyOf(f reflect.StructField) string {
	key, _, _ := strings.Cut(f.Tag.Get("key"), ",")
	return key
}

// below is join for keys of the schema, which may be two in one.
func below(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func byName(t reflect.Type) bool {
	return reflect.PointerTo(t.Elem()).Implements(reflect.TypeFor[named]())
}
