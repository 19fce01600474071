// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// expand replaces ${NAME} in the texts of a JSON document by what getenv has.
// All that is missing is named at once; numbers keep their digits.
func expand(data []byte, getenv func(string) string) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	x := expander{getenv: getenv}
	value = x.value(value)
	if len(x.missing) > 0 {
		return nil, fmt.Errorf("not in the environment: %s", strings.Join(x.missing, ", "))
	}
	return json.Marshal(value)
}

type expander struct {
	getenv  func(string) string
	missing []string
}

func (x *expander) value(v any) any {
	switch v := v.(type) {
	case string:
		return x.text(v)
	case []any:
		for i := range v {
			v[i] = x.value(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = x.value(v[k])
		}
	}
	return v
}

func (x *expander) text(s string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		name, after, closed := strings.Cut(rest, "}")
		if !found || !closed {
			out.WriteString(s)
			return out.String()
		}
		out.WriteString(before)
		value := x.getenv(name)
		if value == "" {
			x.missing = append(x.missing, name)
		}
		out.WriteString(value)
		s = after
	}
}
