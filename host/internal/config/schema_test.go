// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryKeyOfTheSchemaIsDescribed(t *testing.T) {
	count := 0
	each(loadContract().root, "", func(path string, s shape) {
		count++
		if d := s.word("description"); len(d) < 10 || !strings.HasSuffix(d, ".") {
			t.Errorf("%s: the description is %q", path, d)
		}
	})
	if count < 100 {
		t.Errorf("only %d keys were seen", count)
	}
}

func TestEveryMappingOfTheSchemaSaysWhatItsKeysAre(t *testing.T) {
	check := func(path string, s shape) {
		for _, alt := range s.alternatives() {
			if len(alt.types()) == 0 {
				t.Errorf("%s: no type", path)
			}
			if slices.Contains(alt.types(), mapping) && !alt.flag("x-references") {
				if _, ok := alt.keywords["additionalProperties"]; !ok {
					t.Errorf("%s: a misspelt key would be ignored", path)
				}
			}
			if alt.word("pattern") != "" && alt.word("patternErrorMessage") == "" {
				t.Errorf("%s: a pattern is no help to a person", path)
			}
		}
	}
	check("", loadContract().root)
	each(loadContract().root, "", check)
}

func TestEveryDefaultIsAValueThatTheSchemaAccepts(t *testing.T) {
	c := loadContract()
	if err := c.compiled.Validate(sample(c.root, "x", true)); err != nil {
		t.Error(err)
	}
}

// each calls f for every key of the schema, with references resolved.
func each(s shape, path string, f func(path string, s shape)) {
	for _, alt := range s.alternatives() {
		for _, key := range alt.known() {
			p, ok := alt.property(key)
			if !ok {
				panic(path + "." + key)
			}
			f(join(path, key), p)
			each(p, join(path, key), f)
		}
		if below, ok := alt.sub(alt.keywords["additionalProperties"]); ok {
			each(below, path+".*", f)
		}
		if item, ok := alt.item(); ok {
			each(item, path+"[]", f)
		}
	}
}

// TestSchemaAndStructsAreTheSame: a key without a field would be accepted and
// ignored; a field without a key could never be set.
func TestSchemaAndStructsAreTheSame(t *testing.T) {
	inSchema := map[string]bool{}
	each(loadContract().root, "", func(path string, _ shape) { inSchema[path] = true })
	inStructs := map[string]bool{}
	fields(t, reflect.TypeFor[Config](), loadContract().root, "", inStructs)
	for _, path := range slices.Sorted(maps.Keys(inSchema)) {
		if !inStructs[path] {
			t.Errorf("%s is in the schema and in no struct", path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(inStructs)) {
		if !inSchema[path] {
			t.Errorf("%s is in a struct and not in the schema", path)
		}
	}
}

// fields collects the key paths of a type and compares types on the way.
func fields(t *testing.T, typ reflect.Type, s shape, path string, seen map[string]bool) {
	t.Helper()
	switch {
	case typ == durationType, typ == anyType:
		return
	case typ.Kind() == reflect.Pointer:
		fields(t, typ.Elem(), s, path, seen)
		return
	case typ.Kind() == reflect.Map:
		below, _ := s.property("any name")
		fields(t, typ.Elem(), below, path+".*", seen)
		return
	case typ.Kind() == reflect.Slice:
		if slices.Contains(s.types(), mapping) {
			below, _ := s.property("any name")
			fields(t, typ.Elem(), below, path+".*", seen)
			return
		}
		item, ok := s.item()
		if !ok {
			t.Errorf("%s is a list in the struct only", path)
		}
		fields(t, typ.Elem(), item, path+"[]", seen)
		return
	case typ.Kind() != reflect.Struct:
		return
	}
	for f := range typ.Fields() {
		tag, ok := f.Tag.Lookup("key")
		if !ok {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		at, below := path, s
		for key := range strings.SplitSeq(name, ".") {
			below, _ = below.property(key)
			at = join(at, key)
			seen[at] = true
		}
		if err := agree(f.Type, below, options); err != "" {
			t.Errorf("%s: %s", at, err)
		}
		fields(t, f.Type, below, at, seen)
	}
}

// agree says what is wrong with a field's type.
func agree(typ reflect.Type, s shape, options string) string {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	item, _ := s.item()
	isPath := s.word("patternErrorMessage") == "a path" || item.word("patternErrorMessage") == "a path"
	if isPath != (options == "path") {
		return fmt.Sprintf("the option %q does not fit", options)
	}
	var want kind
	switch {
	case typ == durationType, options == "size":
		want = text
	case typ == reflect.TypeFor[json.Number]():
		want = number
	case typ == anyType:
		want = mapping
	default:
		switch typ.Kind() {
		case reflect.String:
			want = text
		case reflect.Bool:
			want = boolean
		case reflect.Int:
			want = number
		case reflect.Slice:
			if slices.Contains(s.types(), mapping) {
				return ""
			}
			want = list
		case reflect.Map, reflect.Struct:
			want = mapping
		}
	}
	for _, alt := range s.alternatives() {
		if slices.Contains(alt.types(), want) {
			return ""
		}
	}
	return fmt.Sprintf("the struct has %s, the schema %v", typ, s.keywords["type"])
}

// TestEveryKeyIsDecoded sets every key of the schema to a value of its own
// and finds each in the structs.
func TestEveryKeyIsDecoded(t *testing.T) {
	root := sample(loadContract().root, "x", false)
	if err := loadContract().compiled.Validate(root); err != nil {
		t.Fatalf("the sample is not valid: %v", err)
	}
	var cfg Config
	decoder{dir: "/base"}.decode(reflect.ValueOf(&cfg).Elem(), nodeOf(root), loadContract().root, "", nil)
	zero(t, reflect.ValueOf(cfg), "")
}

// zero reports fields with a key that are not set.
func zero(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			zero(t, v.Elem(), path)
		}
	case reflect.Slice:
		for i := range v.Len() {
			zero(t, v.Index(i), path+"[]")
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			zero(t, v.MapIndex(key), path+".*")
		}
	case reflect.Struct:
		for i := range v.NumField() {
			tag, ok := v.Type().Field(i).Tag.Lookup("key")
			if !ok {
				continue
			}
			if v.Field(i).IsZero() {
				t.Errorf("%s.%s was not decoded", path, tag)
			}
			zero(t, v.Field(i), path+"."+tag)
		}
	}
}

// sample is a value that a schema should accept: its default where it has one
// and defaults is set, else one that is not the zero value.
func sample(s shape, name string, defaults bool) any {
	if v, ok := s.keywords["default"]; ok && defaults && !slices.Contains(s.types(), mapping) {
		return v
	}
	alts := s.alternatives()
	s = alts[len(alts)-1] // the map form, where there is one
	if enum, ok := s.keywords["enum"].([]any); ok {
		return enum[0]
	}
	switch s.types()[0] {
	case boolean:
		return true
	case number:
		return json.Number("7")
	case list:
		item, _ := s.item()
		return []any{sample(item, name, defaults)}
	case mapping:
		out := map[string]any{}
		for _, key := range s.known() {
			p, _ := s.property(key)
			out[key] = sample(p, key, defaults)
		}
		if below, ok := s.sub(s.keywords["additionalProperties"]); ok {
			out[name] = sample(below, name, defaults)
		}
		return out
	default:
	}
	for _, v := range []string{
		"x", "30s", "1MiB", "10/s", "/mcp", "https://x/y", "https://x", "host:1", "sqlite", strings.Repeat("a", 64),
	} {
		if regexp.MustCompile(s.word("pattern")).MatchString(v) {
			return v
		}
	}
	panic("no sample of " + fmt.Sprint(s.keywords))
}

func TestEveryKeyThatIsNotBuiltIsInTheSchemaAndRefused(t *testing.T) {
	for _, u := range notBuilt {
		t.Run(u.key, func(t *testing.T) {
			if _, ok := loadContract().root.property(u.key); !ok {
				t.Fatalf("%s is not in the schema", u.key)
			}
			yaml, ok := unbuiltSamples[u.key]
			if !ok {
				t.Fatal("no sample in unbuiltSamples")
			}
			_, faults := Parse("toolwharf.yaml", []byte(yaml), t.TempDir())
			var found bool
			for _, f := range faults {
				if f.Summary == "is not built yet" && f.Path == u.key {
					found = f.Line > 0 && f.Detail != "" && !f.Warning
				}
			}
			if !found {
				t.Errorf("not refused:\n%v", faults)
			}
		})
	}
}

var unbuiltSamples = map[string]string{
	"mcpServers": "mcpServers: {shop: {url: 'https://x'}}",
	"store":      "store: 'postgres://h/db'",
}

func TestTheSchemaThatIsHandedOutIsACopy(t *testing.T) {
	Schema()[0] = 'x'
	if !json.Valid(Schema()) {
		t.Error("a caller has changed the schema")
	}
}

func TestSize(t *testing.T) {
	for in, want := range map[string]int64{
		"0B": 0, "512B": 512, "1KB": 1000, "1KiB": 1024, "2MiB": 2 << 20, "3GB": 3e9, "8GiB": 8 << 30,
		"": -1, "5": -1, "MiB": -1, "-1B": -1, "99999999999GiB": -1, "1TiB": -1, "1.5MiB": -1,
	} {
		got, ok := size(in)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q is %d, want %d", in, got, want)
		}
	}
}

func TestSuggestions(t *testing.T) {
	known := []string{"plugin", "prefix", "max_in_flight", "include", "exclude"}
	for word, want := range map[string]string{
		"plugn": "plugin", "pluign": "plugin", "Plugin": "plugin", "maxInFlight": "max_in_flight", "max-in-flight": "max_in_flight",
		"inclde": "include", "zebra": "", "p": "", "": "", strings.Repeat("plugin", 50): "",
	} {
		if got := closest(word, known); got != want {
			t.Errorf("%q suggests %q, want %q", word, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, yaml := range unbuiltSamples {
		f.Add([]byte(yaml))
	}
	for _, yaml := range []string{
		"", "---\n", "a: &x [*x]", "? {a: b}\n: c", "adapters: {a: {plugin: p, config: {x: ${A}, y: 0x1F, z: 1e400}}}",
		"http: {listen: '[::1]:0', path: /a}", "adapters: {a: {plugin: p, limits: {timeout: 1h}, sandbox: {mode: off}}}", "- - - -", "!!int x: !!str 1",
		"adapters:\n  a: {plugin: p, prefix: ''}\n  b: {plugin: p, env: {A: 1, B: true}}", "<<: {}", "a: |\n  x\n", "\ufeff", "name: \"\\ud800\"",
	} {
		f.Add([]byte(yaml))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		c, faults := Parse("f", data, dir)
		if (c == nil) != (faults.Err() != nil) {
			t.Fatalf("Config %v, faults %v", c, faults)
		}
		if len(faults) > maxFaults+1 {
			t.Fatalf("%d faults", len(faults))
		}
		lines := strings.Count(string(data), "\n") + strings.Count(string(data), "\r") + strings.Count(string(data), "\u0085") +
			strings.Count(string(data), "\u2028") + strings.Count(string(data), "\u2029") + 2
		for _, f := range faults {
			if f.Line > lines {
				t.Fatalf("line %d of %d: %v", f.Line, lines, f)
			}
		}
		if state := stateOf(data, dir); !filepath.IsAbs(state) || c != nil && state != c.State {
			t.Fatalf("the state directory is %q", state)
		}
		if c == nil {
			return
		}
		if r := c.Reload(c); len(r.Changed)+len(r.Restart) > 0 {
			t.Fatalf("it differs from itself in %v, %v", r.Changed, r.Restart)
		}
		for i := range c.Adapters {
			if _, err := json.Marshal(c.Adapters[i].Config); err != nil {
				t.Fatalf("the configuration of %s is no JSON: %v", c.Adapters[i].Name, err)
			}
		}
	})
}
