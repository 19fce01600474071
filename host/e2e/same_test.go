// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"
)

// sameRequests are one of each kind, with name or URI as HTTP has it in a header.
var sameRequests = []struct{ method, name, params string }{
	{"tools/list", "", ``},
	{"resources/list", "", ``},
	{"resources/templates/list", "", ``},
	{"prompts/list", "", ``},
	{"tools/call", "test_simple_text", `"name":"test_simple_text"`},
	{"tools/call", "test_image_content", `"name":"test_image_content","arguments":{}`},
	{"tools/call", "test_audio_content", `"name":"test_audio_content","arguments":null`},
	{"tools/call", "test_embedded_resource", `"name":"test_embedded_resource","arguments":{}`},
	{"tools/call", "test_multiple_content_types", `"name":"test_multiple_content_types","arguments":{}`},
	{"tools/call", "test_error_handling", `"name":"test_error_handling","arguments":{}`},
	{"tools/call", "json_schema_2020_12_tool", `"name":"json_schema_2020_12_tool","arguments":{"contactMethod":"phone","phone":"héllo \ud83d\ude00"}`},
	{"tools/call", "json_schema_2020_12_tool", `"name":"json_schema_2020_12_tool","arguments":{"contactMethod":"phone"}`},
	{"tools/call", "json_schema_2020_12_tool", `"name":"json_schema_2020_12_tool","arguments":{"phone":"1","phone":"2"}`},
	{"tools/call", "json_schema_2020_12_tool", `"name":"json_schema_2020_12_tool","arguments":[1]`},
	{"tools/call", "echo_numbers", `"name":"echo_numbers","arguments":{"value":[9007199254740993,1.10,1e400,"\u00e9"]}`},
	{"tools/call", "echo_numbers", `"name":"echo_numbers","arguments":{"value":null}`},
	{"tools/call", "nothing", `"name":"nothing","arguments":{}`},
	{"resources/read", "test://static-text", `"uri":"test://static-text"`},
	{"resources/read", "test://static-binary", `"uri":"test://static-binary"`},
	{"resources/read", "test://template/a%20b/data", `"uri":"test://template/a%20b/data"`},
	{"resources/read", "test://nothing", `"uri":"test://nothing"`},
	{"prompts/get", "test_simple_prompt", `"name":"test_simple_prompt"`},
	{"prompts/get", "test_prompt_with_arguments", `"name":"test_prompt_with_arguments","arguments":{"arg1":"a","arg2":"<&>"}`},
	{"prompts/get", "test_prompt_with_arguments", `"name":"test_prompt_with_arguments","arguments":{"arg1":"a"}`},
	{"prompts/get", "test_prompt_with_image", `"name":"test_prompt_with_image","arguments":{}`},
	{"prompts/get", "nothing", `"name":"nothing"`},
	{"completion/complete", "", `"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":"par"}`},
}

// common is an answer without what only 2026-07-28 has, and without its id.
func common(t *testing.T, raw string) map[string]any {
	t.Helper()
	m, ok := decoded(t, raw).(map[string]any)
	if !ok {
		t.Fatalf("no object: %s", raw)
	}
	delete(m, "id")
	if r, ok := m["result"].(map[string]any); ok {
		for _, key := range []string{"resultType", "ttlMs", "cacheScope"} {
			delete(r, key)
		}
		if meta, ok := r["_meta"].(map[string]any); ok {
			delete(meta, "io.modelcontextprotocol/serverInfo")
			if len(meta) == 0 {
				delete(r, "_meta")
			}
		}
	}
	return m
}

// line sends a request over stdio and returns the line that answers it.
func (s *speaker) line(t *testing.T, request string) string {
	t.Helper()
	if _, err := io.WriteString(s.in, request+"\n"); err != nil {
		t.Fatal(err)
	}
	for {
		select {
		case line := <-s.lines:
			if !strings.Contains(line, `"method":`) {
				return line
			}
		case <-time.After(patience):
			t.Fatalf("no answer to %s", request)
		}
	}
}

func TestTheSameRequestHasTheSameAnswerInEachEraOverEachTransport(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "adapters: {fixtures: {plugin: fixtures, prefix: \"\"}}\n")
	install(t, "fixtures", plugins)
	install(t, "echo", plugins)
	h := serve(t, dir)
	old := func(id int, method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, params)
	}
	modernLines, oldLines := speak(t, dir), speak(t, dir)
	if first := oldLines.line(t, old(0, "initialize", `"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}`)); !strings.Contains(first, `"2025-06-18"`) {
		t.Fatal(first)
	}
	overHTTP := func(headers map[string]string, body string) string {
		raw, err := json.Marshal(h.rpc(t, headers, body))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	ways := map[string]func(id int, method, name, params string) string{
		"2026-07-28 over HTTP": func(id int, method, name, params string) string { return overHTTP(modern(id, method, name, params)) },
		"2026-07-28 over stdio": func(id int, method, name, params string) string {
			return modernLines.line(t, second(modern(id, method, name, params)))
		},
		"2025-06-18 over HTTP": func(id int, method, _, params string) string {
			return overHTTP(map[string]string{"MCP-Protocol-Version": "2025-06-18"}, old(id, method, params))
		},
		"2025-06-18 over stdio": func(id int, method, _, params string) string { return oldLines.line(t, old(id, method, params)) },
	}
	for i, r := range sameRequests {
		t.Run(fmt.Sprint(i, " ", r.method, " ", r.name), func(t *testing.T) {
			want := common(t, ways["2026-07-28 over HTTP"](i+1, r.method, r.name, r.params))
			if want["result"] == nil && want["error"] == nil {
				t.Fatalf("no answer: %v", want)
			}
			for name, ask := range ways { // the first once more: a client that is known takes a shorter way
				if got := common(t, ask(i+1, r.method, r.name, r.params)); !reflect.DeepEqual(got, want) {
					t.Errorf("%s:\n%.1500v\nthe first was:\n%.1500v", name, got, want)
				}
			}
		})
	}
}
