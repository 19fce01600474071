// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestRequestIsWhatTheProtocolAsksFor(t *testing.T) {
	raw := newRequest("127.0.0.1:8000", "/mcp", Echo("echo_echo")).append(nil, 7)
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "echo_echo",
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
	} {
		if got := req.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		ID     int64
		Method string
		Params struct {
			Name      string
			Arguments map[string]string
			Meta      map[string]json.RawMessage `json:"_meta"`
		}
	}
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	if got.ID != 7 || got.Method != "tools/call" || got.Params.Name != "echo_echo" || got.Params.Arguments["text"] != "berth-1000000007" {
		t.Errorf("request is %s", body)
	}
	for _, key := range []string{"protocolVersion", "clientCapabilities", "clientInfo"} {
		if _, ok := got.Params.Meta["io.modelcontextprotocol/"+key]; !ok {
			t.Errorf("_meta lacks %s", key)
		}
	}
}

func TestVerify(t *testing.T) {
	const good = `{"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[{"type":"text","text":"hi"}]}}`
	tests := map[string]struct{ body, fault string }{
		"a good reply passes":     {good, ""},
		"not JSON":                {"oops", "not JSON"},
		"another id":              {strings.Replace(good, "7", "8", 1), "has id 8"},
		"no id":                   {strings.Replace(good, `"id":7,`, "", 1), "no id"},
		"an id that is text":      {strings.Replace(good, "7", `"7"`, 1), "not JSON"},
		"a protocol error":        {`{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"unknown tool"}}`, "unknown tool"},
		"no result":               {`{"jsonrpc":"2.0","id":7}`, "no result"},
		"a tool's error":          {strings.Replace(good, `"content"`, `"isError":true,"content"`, 1), "tool error"},
		"another text":            {strings.Replace(good, "hi", "ho", 1), "text is"},
		"text that only contains": {strings.Replace(good, "hi", "hip", 1), "text is"},
		"no content":              {strings.Replace(good, `{"type":"text","text":"hi"}`, "", 1), "no text"},
		"no JSON-RPC":             {strings.Replace(good, `"jsonrpc":"2.0",`, "", 1), "jsonrpc is"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := verify([]byte(tt.body), 7, []byte("hi"), false)
			switch {
			case tt.fault == "" && err != nil:
				t.Errorf("unexpected: %v", err)
			case tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)):
				t.Errorf("error is %v, want one with %q", err, tt.fault)
			}
		})
	}
}

func TestVerifyOfATextWithin(t *testing.T) {
	const body = `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"one row: hi!"}]}}`
	if err := verify([]byte(body), 7, []byte("hi"), true); err != nil {
		t.Errorf("unexpected: %v", err)
	}
	if err := verify([]byte(body), 7, []byte("ho"), true); err == nil || !strings.Contains(err.Error(), `want "ho" in it`) {
		t.Errorf("another text: %v", err)
	}
}

func TestCallRefusesWhatIsNotAPlainReply(t *testing.T) {
	const good = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"berth-1000000001"}]}}`
	tests := map[string]struct {
		answer http.HandlerFunc
		fault  string
	}{
		"a status other than 200": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTooManyRequests) }, "status 429"},
		"an event stream": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: "+good+"\n\n")
		}, "not JSON"},
		"a connection that is not kept": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Connection", "close")
			_, _ = io.WriteString(w, good)
		}, "closes the connection"},
		"a good reply passes": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, good)
		}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(tt.answer)
			defer srv.Close()
			c, err := Dial(t.Context(), srv.Listener.Addr().String(), "/mcp", Echo("echo"))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			err = c.Call(1)
			switch {
			case tt.fault == "" && err != nil:
				t.Errorf("unexpected: %v", err)
			case tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)):
				t.Errorf("error is %v, want one with %q", err, tt.fault)
			}
		})
	}
}
