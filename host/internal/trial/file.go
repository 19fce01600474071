// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/toolwharf/toolwharf/host/internal/face/control"
	"github.com/toolwharf/toolwharf/host/internal/fault"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Bounds of a file.
const (
	maxFile  = 1 << 20
	maxCases = 10_000
)

// Case is one call and what is to become of it.
type Case struct {
	File string
	// Line is where it stands in the file.
	Line int
	Name string
	// Principal calls; nil: nobody.
	Principal *control.Caller
	Tool      string
	Args      json.RawMessage
	// Expect is "allow", "confirm" or "deny".
	Expect string
	// Rule is the line of the rule that is to decide; 0: any, or none.
	Rule int
}

// Read reads a file of cases. Its faults come all at once.
func Read(path string) ([]Case, fault.List) {
	f, err := os.Open(path)
	if err != nil {
		if pathErr, ok := errors.AsType[*os.PathError](err); ok {
			err = pathErr.Err
		}
		return nil, fault.List{{File: path, Summary: err.Error()}}
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, fault.List{{File: path, Summary: err.Error()}}
	case len(data) > maxFile:
		return nil, fault.List{{File: path, Summary: fmt.Sprintf("is larger than %d bytes", maxFile)}}
	}
	return Parse(path, data)
}

// Parse reads cases that are in memory. name is what faults call the file.
func Parse(name string, data []byte) ([]Case, fault.List) {
	r := &reader{file: name}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fault.List{{File: name, Summary: "is no YAML: " + err.Error()}}
	}
	var list *yaml.Node
	if len(doc.Content) == 1 {
		list = r.only(doc.Content[0], "cases")
	}
	switch {
	case len(r.faults) > 0:
	case list == nil || list.Kind != yaml.SequenceNode || len(list.Content) == 0:
		r.fault(list, "cases", "must be a list of cases")
	case len(list.Content) > maxCases:
		r.fault(list, "cases", "has more than %d cases", maxCases)
	default:
		for i, n := range list.Content {
			r.one(n, fmt.Sprintf("cases[%d]", i))
		}
	}
	if r.faults.Err() != nil {
		return nil, r.faults
	}
	return r.cases, nil
}

// reader collects cases and faults.
type reader struct {
	file   string
	cases  []Case
	faults fault.List
}

func (r *reader) fault(at *yaml.Node, path, format string, args ...any) {
	f := fault.Fault{File: r.file, Path: path, Summary: fmt.Sprintf(format, args...)}
	if at != nil {
		f.Line, f.Column = at.Line, at.Column
	}
	r.faults.Add(f)
}

// only is the value of the one key that a mapping may have.
func (r *reader) only(n *yaml.Node, key string) *yaml.Node {
	var found *yaml.Node
	r.each(n, "", func(k string, v *yaml.Node) bool {
		found = v
		return k == key
	})
	return found
}

// each goes through a mapping. known reports whether a key is.
func (r *reader) each(n *yaml.Node, path string, known func(key string, v *yaml.Node) bool) {
	if n.Kind != yaml.MappingNode {
		r.fault(n, path, "must be a mapping (key: value)")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case seen[k.Value]:
			r.fault(k, path, "has the key %q twice", k.Value)
		case !known(k.Value, v):
			r.fault(k, path, "has the unknown key %q", k.Value)
		}
		seen[k.Value] = true
	}
}

func (r *reader) one(n *yaml.Node, path string) {
	c := Case{File: r.file, Line: n.Line, Args: json.RawMessage("{}")}
	r.each(n, path, func(key string, v *yaml.Node) bool {
		at := path + "." + key
		switch key {
		case "name":
			c.Name = r.text(v, at)
		case "tool":
			c.Tool = r.text(v, at)
		case "expect":
			c.Expect = r.text(v, at)
		case "line":
			var err error
			if c.Rule, err = strconv.Atoi(r.text(v, at)); err != nil || c.Rule <= 0 {
				r.fault(v, at, "must be the line of a rule")
			}
		case "arguments":
			raw, err := jsonOf(v)
			if err == nil {
				_, err = tool.ParseArgs(raw)
			}
			if err != nil {
				r.fault(v, at, "must be an object: %v", err)
			}
			c.Args = raw
		case "principal":
			c.Principal = r.principal(v, at)
		default:
			return false
		}
		return true
	})
	if c.Tool == "" {
		r.fault(n, path+".tool", "is missing")
	}
	if c.Expect != "allow" && c.Expect != "confirm" && c.Expect != "deny" {
		r.fault(n, path+".expect", "must be one of allow, confirm, deny")
	}
	r.cases = append(r.cases, c)
}

func (r *reader) text(n *yaml.Node, path string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		r.fault(n, path, "must be text")
		return ""
	}
	return n.Value
}

func (r *reader) principal(n *yaml.Node, path string) *control.Caller {
	text := n.Value
	if n.Kind == yaml.MappingNode {
		raw, err := jsonOf(n)
		if err != nil {
			r.fault(n, path, "%v", err)
			return nil
		}
		text = string(raw)
	}
	c, err := control.ParseCaller(text)
	if err != nil {
		r.fault(n, path, "%v", err)
	}
	return c
}

// jsonOf is a value as JSON, with the digits of the file.
func jsonOf(n *yaml.Node) (json.RawMessage, error) {
	switch n.Kind {
	case yaml.MappingNode:
		out := []byte{'{'}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, err := json.Marshal(n.Content[i].Value)
			if err != nil {
				return nil, fmt.Errorf("key: %w", err)
			}
			v, err := jsonOf(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(append(out, key...), ':'), v...)
		}
		return append(out, '}'), nil
	case yaml.SequenceNode:
		out := []byte{'['}
		for i, item := range n.Content {
			v, err := jsonOf(item)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, v...)
		}
		return append(out, ']'), nil
	case yaml.ScalarNode:
		return scalar(n)
	case yaml.AliasNode, yaml.DocumentNode:
	}
	return nil, errors.New("has an alias, which cases have none of")
}

func scalar(n *yaml.Node) (json.RawMessage, error) {
	switch n.Tag {
	case "!!null":
		return json.RawMessage("null"), nil
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return nil, fmt.Errorf("%q: %w", n.Value, err)
		}
		return json.RawMessage(strconv.FormatBool(b)), nil
	case "!!int", "!!float":
		if _, err := tool.ParseJSON([]byte(n.Value)); err != nil {
			return nil, fmt.Errorf("the number %q is written as JSON does not write it; text is quoted", n.Value)
		}
		return json.RawMessage(n.Value), nil
	}
	raw, err := json.Marshal(n.Value)
	if err != nil {
		return nil, fmt.Errorf("text: %w", err)
	}
	return raw, nil
}
