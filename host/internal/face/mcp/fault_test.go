// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestWhatIsNoMessageIsRefusedBeforeAnybodyReadsIt(t *testing.T) {
	plain := call(versionModern, "echo", `{}`)
	with := func(old, text string) string { return strings.Replace(plain, old, text, 1) }
	for name, tt := range map[string]struct {
		body string
		code int64
		id   string
	}{
		"a key twice":                  {with(`"id":1`, `"id":1,"id":2`), -32600, "null"},
		"a method twice":               {with(`"id":1`, `"id":1,"method":"x"`), -32600, "1"},
		"a null id":                    {with(`"id":1`, `"id":null`), -32600, "null"},
		"an id with a fraction":        {with(`"id":1`, `"id":1.0`), -32600, "null"},
		"an id of -0":                  {with(`"id":1`, `"id":-0`), -32600, "null"},
		"an id that is no id":          {with(`"id":1`, `"id":{}`), -32600, "null"},
		"an id that would be rounded":  {with(`"id":1`, `"id":9007199254740993`), -32600, "null"},
		"half a surrogate":             {with(`"id":1`, `"id":"\ud800"`), -32600, "null"},
		"another JSON-RPC":             {with(`"2.0"`, `"1.0"`), -32600, "1"},
		"no method":                    {with(`"method"`, `"m"`), -32600, "1"},
		"_meta that is no JSON":        {with(`"elicitation":{}`, `"elicitation":{}},"x":{]`), -32700, "1"},
		"an array":                     {`[` + plain + `]`, -32600, "null"},
		"something behind it":          {plain + `x`, -32700, "1"},
		"another message behind it":    {plain + plain, -32700, "1"},
		"nothing":                      {``, -32700, "null"},
		"no more than one that begins": {plain[:40], -32700, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, Config{})
			res := ask(h, versionModern, tt.body)
			m := decode[message](t, res.Body.Bytes())
			if res.Code != http.StatusBadRequest || m.Error == nil || m.Error.Code != tt.code || string(m.ID) != tt.id {
				t.Errorf("%d %s", res.Code, res.Body)
			}
			if len(h.calls)+len(h.rejected) != 0 {
				t.Error("it was read")
			}
		})
	}
}

func TestWhatTheSDKRefusesInPlainTextIsSaidInJSONRPC(t *testing.T) {
	said := httptest.NewRecorder()
	w := &inJSON{ResponseWriter: said, id: json.RawMessage("7")}
	http.Error(w, "malformed payload: cannot unmarshal into Go value of type wire", http.StatusBadRequest)
	if got := said.Body.String(); said.Code != http.StatusBadRequest || !strings.HasPrefix(said.Header().Get("Content-Type"), "application/json") ||
		got != `{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"the message is no message of JSON-RPC 2.0"}}` {
		t.Errorf("%d %v %s", said.Code, said.Header(), got)
	}
}

func TestParamsOfAnotherShapeAreInvalidParamsInOurWords(t *testing.T) {
	for name, sent := range map[string]string{
		"initialize":            `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7,"capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`,
		"params of an array":    `{"jsonrpc":"2.0","id":1,"method":"initialize","params":[1]}`,
		"a URI of a number":     `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":7}}`,
		"a cursor of a number":  `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":7}}`,
		"a name of an array":    `{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":[]}}`,
		"arguments of a string": `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":"x"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, Config{})
			p := h.stdio(t.Context())
			if !strings.Contains(sent, "initialize") {
				p.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`)
				if m := p.next(); m.Error != nil {
					t.Fatal(m.Error)
				}
			}
			p.send(sent)
			over := p.next()
			for way, m := range map[string]message{"HTTP": decode[message](t, ask(h, legacy, sent).Body.Bytes()), "stdio": over} {
				if m.Error == nil || m.Error.Code != -32602 || strings.Contains(m.Error.Message, "mcp.") || strings.Contains(m.Error.Message, "unmarshal") {
					t.Errorf("%s: %+v", way, m.Error)
				}
			}
		})
	}
}

func TestAnErrorHasACodeThoughTheSDKHasNone(t *testing.T) {
	p := newHost(t, Config{}).stdio(t.Context())
	p.send(`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"x"}}`)
	if m := p.next(); m.Error == nil || m.Error.Code != -32600 || !strings.Contains(m.Error.Message, "during session initialization") {
		t.Errorf("%+v", m.Error)
	}
}

// FuzzFault: whatever the bytes, there is an answer, and it is one message of
// JSON-RPC or a refusal in JSON, with an id only if that is the message's own.
func FuzzFault(f *testing.F) {
	plain := call(versionModern, "echo", `{}`)
	for _, s := range []string{
		plain, plain + plain, `[` + plain + `]`, `{"jsonrpc":"2.0","id":"\ud800","method":"x"}`, `{"jsonrpc":"2.0","id":1e2}`, "\xef\xbb\xbf" + plain,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/unheard","params":{}}`, "\x00", `{"id":1,"id":2}`,
	} {
		f.Add(s)
	}
	var h *host
	f.Fuzz(func(t *testing.T, raw string) {
		if h == nil {
			h = newHost(t, Config{})
		}
		if readEnvelope([]byte(raw)).asks(methodListen) {
			return // which goes on
		}
		res := ask(h, versionModern, raw)
		answer := res.Body.Bytes()
		if len(bytes.TrimSpace(answer)) == 0 {
			if res.Code != http.StatusAccepted {
				t.Fatalf("%q: %d without a word", raw, res.Code)
			}
			return
		}
		if kind := res.Header().Get("Content-Type"); strings.HasPrefix(kind, "text/event-stream") {
			return
		} else if kind != "application/json" || !json.Valid(answer) {
			t.Fatalf("%q: %d %s %s", raw, res.Code, kind, answer)
		}
	})
}
