// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestOnlyPOSTIsServed(t *testing.T) {
	h := newHost(t, Config{}).serve()
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut, http.MethodOptions} {
		req, err := http.NewRequestWithContext(t.Context(), method, h.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/event-stream")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get("Allow") != "POST" || !json.Valid(raw) {
			t.Errorf("%s: %d %v %s", method, res.StatusCode, res.Header, raw)
		}
	}
}

func TestALargeRequestIsRefused(t *testing.T) {
	h := newHost(t, Config{MaxBody: 1000}).serve()
	large := call(versionModern, "echo", `{"s":"`+strings.Repeat("x", 1000)+`"}`)
	for name, length := range map[string]int64{"with its length": int64(len(large)), "in chunks": -1} {
		req := h.request(t.Context(), versionModern, large)
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(large)), length
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != http.StatusRequestEntityTooLarge || !strings.Contains(string(raw), `"error":"body-too-large"`) {
			t.Errorf("%s: %d %s", name, res.StatusCode, raw)
		}
	}
	fits := call(versionModern, "echo", `{"s":"`+strings.Repeat("x", 1000-len(call(versionModern, "echo", `{"s":""}`)))+`"}`)
	if res, raw := h.post(versionModern, fits); res.StatusCode != http.StatusOK || len(fits) != 1000 {
		t.Errorf("a request of %d bytes: %d %s", len(fits), res.StatusCode, raw)
	}
}

func TestAnswersAreJSONUnlessTheRequestWantsToHearMore(t *testing.T) {
	h := newHost(t, Config{}).serve()
	for name, tt := range map[string]struct{ era, meta, media string }{
		"nothing":                  {versionModern, "", "application/json"},
		"a string token":           {versionModern, `,"progressToken":"p"`, "text/event-stream"},
		"a number":                 {versionModern, `,"progressToken":7`, "text/event-stream"},
		"a level":                  {versionModern, `,"io.modelcontextprotocol/logLevel":"debug"`, "text/event-stream"},
		"an older client's token":  {legacy, `,"progressToken":7`, "text/event-stream"},
		"an older client's none":   {legacy, ``, "application/json"},
		"null":                     {versionModern, `,"progressToken":null`, "application/json"},
		"an object":                {versionModern, `,"progressToken":{}`, "application/json"},
		"a key with an escape":     {versionModern, `,"progress\u0054oken":7`, "text/event-stream"},
		"a key of another case":    {versionModern, `,"progresstoken":7`, "application/json"},
		"a token inside a value":   {versionModern, `,"x":{"progressToken":7}`, "application/json"},
		"an empty level":           {versionModern, `,"io.modelcontextprotocol/logLevel":""`, "application/json"},
		"a level that is a number": {versionModern, `,"io.modelcontextprotocol/logLevel":3`, "application/json"},
	} {
		t.Run(name, func(t *testing.T) {
			res, raw := h.post(tt.era, body(tt.era, methodCallTool, `"name":"echo","arguments":{}`, tt.meta))
			if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != tt.media {
				t.Errorf("%d %s %s", res.StatusCode, res.Header.Get("Content-Type"), raw)
			}
		})
	}
}

func TestProgressAndLogsComeBeforeTheResult(t *testing.T) {
	h := newHost(t, Config{}).serve()
	total := 2.0
	h.run = func(ctx context.Context, c *tool.Call) (tool.Outcome, error) {
		c.Events(&tool.Log{Level: "debug", Logger: "l", Data: json.RawMessage(`"quiet"`)})
		c.Events(&tool.Log{Level: "warning", Logger: "l", Data: json.RawMessage(`{"n":1.10}`)})
		c.Events(&tool.Progress{Progress: 1, Total: &total, Message: "half"})
		c.Events(&tool.Progress{Progress: 2, Total: &total})
		return echo(ctx, c)
	}
	for _, token := range []string{`"p\u00e9"`, `9007199254740993`, `1`} {
		s, _ := h.open(t.Context(),
			body(versionModern, methodCallTool, `"name":"echo","arguments":{}`, `,"progressToken":`+token+`,"io.modelcontextprotocol/logLevel":"info"`))
		var got []string
		for {
			m, ok := s.next()
			if !ok {
				break
			}
			got = append(got, m.Method+string(m.Params))
		}
		all := strings.Join(got, "\n")
		if len(got) < 3 || !strings.Contains(all, `"progressToken":`+token) || !strings.Contains(all, `"progress":2,"total":2`) ||
			!strings.Contains(all, `{"n":1.10}`) || strings.Contains(all, "quiet") || got[len(got)-1] != "" {
			t.Errorf("token %s:\n%s", token, all)
		}
		if c := h.last(); !c.Client.Progress || c.Client.LogLevel != "info" {
			t.Errorf("client %+v", c.Client)
		}
	}
}

func TestNoEventsAreWantedByAPlainRequest(t *testing.T) {
	h := newHost(t, Config{}).serve()
	for _, era := range eras {
		h.answer(era, call(era, "echo", `{}`))
		if c := h.last(); c.Events != nil || c.Client.Progress || c.Client.LogLevel != "" {
			t.Errorf("%s: %+v", era, c.Client)
		}
	}
}

func TestOlderClientsOverHTTPAreNotPromisedNotices(t *testing.T) {
	h := newHost(t, Config{}).serve()
	init := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + legacy + `","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	if m := h.ask(legacy, init); !strings.Contains(string(m.Result), `"tools":{}`) {
		t.Errorf("%s", m.Result)
	}
	p := h.stdio(t.Context())
	p.send(init)
	if m := p.next(); !strings.Contains(string(m.Result), `"tools":{"listChanged":true}`) {
		t.Errorf("stdio: %s", m.Result)
	}
}

func TestDiscoverSaysWhatIsThere(t *testing.T) {
	h := newHost(t, Config{Instructions: "be kind"}).serve()
	m := h.ask(versionModern, body(versionModern, "server/discover", "", ""))
	for _, want := range []string{
		`"tools":{"listChanged":true}`, `"prompts":{"listChanged":true}`, `"resources":{"listChanged":true`, `"completions":{}`, `"instructions":"be kind"`, `"cacheScope":"private"`, `"ttlMs":60000`,
		`"io.modelcontextprotocol/serverInfo":{"name":"toolwharf","version":"test"}`,
	} {
		if !strings.Contains(string(m.Result), want) {
			t.Errorf("no %s in %s", want, m.Result)
		}
	}
}

func TestHeadersMustSayWhatTheBodySays(t *testing.T) {
	h := newHost(t, Config{}, spec("echo"), tool.Spec{
		Name: "route", Input: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`),
	}).serve()
	encode := func(s string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?=" }
	for name, tt := range map[string]struct {
		body    string
		headers []string
		refused bool
	}{
		"equal":                      {call(versionModern, "echo", `{"n":1}`), nil, false},
		"an encoded name":            {call(versionModern, "echo", `{}`), []string{headerName, encode("echo")}, false},
		"another name":               {call(versionModern, "echo", `{}`), []string{headerName, "route"}, true},
		"another name, encoded":      {call(versionModern, "echo", `{}`), []string{headerName, encode("route")}, true},
		"a name that is no base64":   {call(versionModern, "echo", `{}`), []string{headerName, "=?base64?%%?="}, true},
		"another method":             {call(versionModern, "echo", `{}`), []string{"Mcp-Method", "tools/list"}, true},
		"another version":            {call(versionModern, "echo", `{}`), []string{"Mcp-Protocol-Version", "2025-11-25"}, true},
		"an argument in its header":  {call(versionModern, "route", `{"region":"eu"}`), []string{"Mcp-Param-Region", "eu"}, false},
		"an argument, encoded":       {call(versionModern, "route", `{"region":"é"}`), []string{"Mcp-Param-Region", encode("é")}, false},
		"another argument":           {call(versionModern, "route", `{"region":"eu"}`), []string{"Mcp-Param-Region", "us"}, true},
		"an argument without header": {call(versionModern, "route", `{"region":"eu"}`), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			res, raw := h.post(versionModern, tt.body, tt.headers...)
			m := decode[message](t, raw)
			if tt.refused != (m.Error != nil) || tt.refused != (res.StatusCode == http.StatusBadRequest) {
				t.Errorf("%d %s", res.StatusCode, raw)
			}
			if tt.refused && m.Error.Code != -32020 {
				t.Errorf("code %d", m.Error.Code)
			}
		})
	}
}

func TestVersionsAndMethodsThatAreNotThere(t *testing.T) {
	h := newHost(t, Config{}).serve()
	unknown := strings.ReplaceAll(call(versionModern, "echo", `{}`), versionModern, "2099-01-01")
	if res, raw := h.post("2099-01-01", unknown); res.StatusCode != http.StatusBadRequest || decode[message](t, raw).Error.Code != -32022 {
		t.Errorf("an unknown version: %d %s", res.StatusCode, raw)
	}
	if res, raw := h.post(versionModern, body(versionModern, "tools/nope", "", "")); res.StatusCode != http.StatusNotFound || decode[message](t, raw).Error.Code != -32601 {
		t.Errorf("an unknown method: %d %s", res.StatusCode, raw)
	}
	if res, _ := h.post(versionModern, `{"jsonrpc":"2.0","id":1,"meth`); res.StatusCode != http.StatusBadRequest {
		t.Errorf("half a message: %d", res.StatusCode)
	}
	if res, raw := h.post(versionModern, body(versionModern, "ping", "", "")); res.StatusCode != http.StatusNotFound {
		t.Errorf("a method that is gone: %d %s", res.StatusCode, raw)
	}
}

func TestBatchesOf20250326AreAnswered(t *testing.T) {
	h := newHost(t, Config{}).serve()
	batch := `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"n":1.10}}},` +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"a":1,"a":2}}}]`
	_, raw := h.post("2025-03-26", batch)
	all := decode[[]message](t, raw)
	if len(all) != 2 {
		t.Fatalf("%s", raw)
	}
	if res, raw := h.post("2025-03-26", "["+strings.Repeat("{},", maxBatch)+"{}]"); res.StatusCode != http.StatusBadRequest ||
		!strings.Contains(string(raw), "batch-too-long") {
		t.Errorf("a long batch: %d %s", res.StatusCode, raw)
	}
	for _, m := range all {
		a := decode[answer](t, m.Result)
		if string(m.ID) == "1" && string(a.Structured) != `{"n":1.10}` || string(m.ID) == "2" && a.meta(metaErrorKind) != "args_invalid" {
			t.Errorf("%s", m.Result)
		}
	}
}

func TestBatchLength(t *testing.T) {
	for body, want := range map[string]int{
		``: 0, `{}`: 0, `{"a":[1,2]}`: 0, `[]`: 0, "[ {} ]\n": 1, `[{"a":[1,2]},"]",[[]]]`: 3, `[1,2`: 2, `[1,`: 1, `[,]`: 0, `[{`: 0,
	} {
		if got := batchLength([]byte(body)); got != want {
			t.Errorf("%s: %d", body, got)
		}
	}
}
