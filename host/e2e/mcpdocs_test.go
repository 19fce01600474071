// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// leftOut stands in an example where something is left out.
const leftOut = "..."

// elide makes what is left out of the example, and not the same every time, the same
// in what was said.
func elide(example, said any) any {
	switch e := example.(type) {
	case string:
		if e == leftOut {
			return e
		}
	case map[string]any:
		s, ok := said.(map[string]any)
		if !ok {
			return said
		}
		out := map[string]any{}
		for key, value := range s {
			out[key] = value
			if shown, ok := e[key]; ok {
				out[key] = elide(shown, value)
			}
		}
		return out
	case []any:
		s, ok := said.([]any)
		if !ok || len(s) != len(e) {
			return said
		}
		out := make([]any, len(s))
		for i := range s {
			out[i] = elide(e[i], s[i])
		}
		return out
	}
	return said
}

func decoded(t *testing.T, raw string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

func TestTheExamplesOfTheMCPPageAreWhatTheHostAnswers(t *testing.T) {
	t.Parallel()
	const page = "../../docs/mcp.md"
	yaml, examples := blocksOf(t, page, "yaml"), blocksOf(t, page, "json")
	if len(yaml) != 1 || len(examples) != 8 {
		t.Fatalf("the page has %d blocks of YAML and %d of JSON", len(yaml), len(examples))
	}
	dir, plugins := workspace(t, "")
	if err := os.WriteFile(filepath.Join(dir, "toolwharf.yaml"), []byte(yaml[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	install(t, "echo", plugins)
	h := serve(t, dir)
	for i := 0; i < len(examples); i += 2 {
		var request struct {
			Method string
			Params map[string]json.RawMessage
		}
		if err := json.Unmarshal([]byte(examples[i]), &request); err != nil {
			t.Fatal(err)
		}
		name, params := "", []string{}
		for key, value := range request.Params {
			params = append(params, fmt.Sprintf("%q:%s", key, value))
			if key == "name" || key == "uri" {
				_ = json.Unmarshal(value, &name)
			}
		}
		headers, body := modern(i, request.Method, name, strings.Join(params, ","))
		answer := h.rpc(t, headers, body)
		said := answer["result"]
		if said == nil {
			said = answer["error"]
		}
		example := decoded(t, examples[i+1])
		if got := elide(example, decoded(t, string(said))); !reflect.DeepEqual(got, example) {
			var shown bytes.Buffer
			_ = json.Indent(&shown, said, "", "  ")
			t.Errorf("%s is answered %.2000s", examples[i], shown.String())
		}
	}
}
