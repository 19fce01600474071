// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/toolwharf/toolwharf/host/internal/fault"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Read reads a lock. Faults name the file as path does; one that is not there
// is fs.ErrNotExist.
func Read(path string) (*Lock, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse reads a lock that is in memory: YAML of exactly the form of Text, but
// for spaces, comments and the order of names. The error is a fault.List.
func Parse(file string, data []byte) (*Lock, error) {
	r := &reader{file: file, lock: NewLock()}
	if len(data) > maxFile {
		r.refuse(0, "", "is larger than %d MiB", maxFile>>20)
	} else if top := r.document(data); top != nil {
		r.top(top)
	}
	if err := r.faults.Err(); err != nil {
		return nil, err
	}
	return r.lock, nil
}

type reader struct {
	file   string
	lock   *Lock
	faults fault.List
}

// maxFaults: whoever has made so many has damaged the file.
const maxFaults = 20

func (r *reader) refuse(line int, path, format string, args ...any) {
	if len(r.faults) < maxFaults {
		r.faults.Add(fault.Fault{File: r.file, Line: line, Path: path, Summary: fmt.Sprintf(format, args...)})
	}
}

var yamlError = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)

func (r *reader) document(data []byte) *yaml.Node {
	var document, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	err := d.Decode(&document)
	switch {
	case errors.Is(err, io.EOF), err == nil && len(document.Content) == 0:
		r.refuse(0, "", "is empty; `toolwharf plugins pin` writes it")
		return nil
	case err == nil:
		if err = d.Decode(&more); err == nil {
			r.refuse(more.Line, "", "holds more than one YAML document")
			return nil
		}
	}
	if !errors.Is(err, io.EOF) {
		line, what := 0, err.Error()
		if m := yamlError.FindStringSubmatch(what); m != nil {
			line, _ = strconv.Atoi(m[1])
			what = m[2]
		}
		r.refuse(line, "", "is not valid YAML: %s", what)
		return nil
	}
	return document.Content[0]
}

func (r *reader) top(n *yaml.Node) {
	fields := r.fields(n, "", "version", "plugins", "adapters")
	if v := fields["version"]; v != nil && (v.Kind != yaml.ScalarNode || v.Value != "1") {
		r.refuse(v.Line, "version", "must be 1; a newer host has written this file")
	}
	r.each(fields["plugins"], "plugins", func(plugin string, n *yaml.Node, path string) {
		f := r.fields(n, path, "kind", "hash")
		kind := r.choice(f["kind"], path+".kind", "executable", "folder")
		r.lock.Plugins[plugin] = Program{Folder: kind == "folder", Hash: r.digest(f["hash"], path+".hash")}
	})
	r.each(fields["adapters"], "adapters", func(adapter string, n *yaml.Node, path string) {
		tools := Tools{}
		r.lock.Adapters[adapter] = tools
		r.each(n, path, func(declared string, n *yaml.Node, path string) {
			f := r.fields(n, path, "effects", "idempotent", "confirm", "spec")
			tools[declared] = Fingerprint{
				Effects:    tool.Effects(r.choice(f["effects"], path+".effects", unset, string(tool.ReadOnly), string(tool.Additive), string(tool.Destructive))),
				Idempotent: r.choice(f["idempotent"], path+".idempotent", "true", "false") == "true",
				Confirm:    Confirm(r.choice(f["confirm"], path+".confirm", unset, "true", "false")),
				Spec:       r.digest(f["spec"], path+".spec"),
			}
		})
	})
}

// entries calls f with each key of a mapping.
func (r *reader) entries(n *yaml.Node, path string, f func(key string, at, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.refuse(n.Line, path, "must be a mapping")
		return
	}
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			r.refuse(key.Line, path, "a key must be text")
			continue
		}
		if line, twice := first[key.Value]; twice {
			r.refuse(key.Line, path, "%.128q stands twice, first in line %d", key.Value, line)
			continue
		}
		first[key.Value] = key.Line
		f(key.Value, key, value)
	}
}

// fields are those of a mapping that has all of them and no other.
func (r *reader) fields(n *yaml.Node, path string, names ...string) map[string]*yaml.Node {
	found := map[string]*yaml.Node{}
	r.entries(n, path, func(key string, at, value *yaml.Node) {
		if slices.Contains(names, key) {
			found[key] = value
			return
		}
		r.refuse(at.Line, path, "%.128q is not a known key: known keys: %s", key, strings.Join(names, ", "))
	})
	for _, name := range names {
		if n.Kind == yaml.MappingNode && found[name] == nil {
			r.refuse(n.Line, path, "%s is missing", name)
		}
	}
	return found
}

// each calls f with each name of a mapping of names.
func (r *reader) each(n *yaml.Node, path string, f func(name string, n *yaml.Node, path string)) {
	if n == nil {
		return
	}
	r.entries(n, path, func(key string, at, value *yaml.Node) {
		if !named.MatchString(key) {
			r.refuse(at.Line, path, "%.128q is no name: it has 1 to 128 of A-Z a-z 0-9 ._@/- and blank", key)
			return
		}
		f(key, value, path+"."+key)
	})
}

// choice is one of some words; "unset" is "".
func (r *reader) choice(n *yaml.Node, path string, words ...string) string {
	if n == nil {
		return ""
	}
	for _, w := range words {
		if n.Kind == yaml.ScalarNode && n.Value == w {
			return strings.TrimPrefix(w, unset)
		}
	}
	r.refuse(n.Line, path, "must be one of %s", strings.Join(words, ", "))
	return ""
}

func (r *reader) digest(n *yaml.Node, path string) tool.Digest {
	if n == nil {
		return tool.Digest{}
	}
	text, found := strings.CutPrefix(n.Value, "sha256:")
	raw, err := hex.DecodeString(text)
	if n.Kind != yaml.ScalarNode || !found || err != nil || len(raw) != len(tool.Digest{}) || text != strings.ToLower(text) {
		r.refuse(n.Line, path, "must be sha256: and 64 of 0-9 a-f")
		return tool.Digest{}
	}
	return tool.Digest(raw)
}
