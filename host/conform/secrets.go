// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// secretsIn are the texts at the writeOnly places of a configuration.
func secretsIn(schema, config json.RawMessage) []string {
	var root, value any
	if json.Unmarshal(schema, &root) != nil || json.Unmarshal(config, &value) != nil {
		return nil
	}
	w := &secretWalk{root: root, steps: maxNodes}
	w.walk(root, value)
	return w.found
}

// secretWalk follows a schema and a value side by side.
type secretWalk struct {
	root  any
	steps int
	found []string
}

func (w *secretWalk) walk(schema, value any) {
	s, ok := schema.(map[string]any)
	if w.steps--; !ok || w.steps < 0 {
		return
	}
	if only, _ := s["writeOnly"].(bool); only {
		w.texts(value)
		return
	}
	if ref, ok := s["$ref"].(string); ok {
		w.walk(resolve(w.root, ref), value)
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[keyword].([]any)
		for _, sub := range list {
			w.walk(sub, value)
		}
	}
	switch v := value.(type) {
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if sub, declared := properties[key]; declared {
				w.walk(sub, v[key])
			} else {
				w.walk(s["additionalProperties"], v[key])
			}
		}
	case []any:
		for _, item := range v {
			w.walk(s["items"], item)
		}
	}
}

// texts takes every text of a value.
func (w *secretWalk) texts(value any) {
	switch v := value.(type) {
	case string:
		w.found = append(w.found, v)
	case []any:
		for _, item := range v {
			w.texts(item)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			w.texts(v[key])
		}
	}
}

// resolve returns what a local reference names, nil if nothing.
func resolve(root any, ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := root
	for token := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(token)]
	}
	return at
}
