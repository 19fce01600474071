// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"encoding/json"
	"testing"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestEnvelopeOfARequest(t *testing.T) {
	raw := ` { "jsonrpc" : "2.0" , "id" : 9007199254740993 , "method" : "tools/call" , "params" : {
		"na\u006de" : "a\"b" , "arguments" : { "x" : "}\\" , "y" : [ 1.10 ] } , "requestState" : "s" , "inputResponses" : { "a" : 1.10 } ,
		"_meta" : { "progressToken" : 1e2 , "io.modelcontextprotocol/logLevel" : "info" , "toolwharf/run_id" : "r" , "other" : null } } } `
	e := readEnvelope([]byte(raw))
	for name, tt := range map[string]struct{ got, want string }{
		"id":        {string(e.id), "9007199254740993"},
		"method":    {string(e.method), `"tools/call"`},
		"name":      {string(e.name), `"a\"b"`},
		"arguments": {string(e.arguments), `{ "x" : "}\\" , "y" : [ 1.10 ] }`},
		"state":     {string(e.state), `"s"`},
		"answers":   {string(e.answers), `{ "a" : 1.10 }`},
		"token":     {string(e.token), "1e2"},
		"level":     {string(e.level), `"info"`},
		"run":       {string(e.run), `"r"`},
	} {
		if tt.got != tt.want {
			t.Errorf("%s is %s", name, tt.got)
		}
	}
	if !e.whole || !e.plain || e.doubled != "" || !e.streams() || !e.asks(methodCallTool) {
		t.Errorf("%+v", e)
	}
	for _, arguments := range []bool{false, true} {
		cut, want := e.forSDK([]byte(raw), arguments), "{}"
		if arguments {
			want = string(e.arguments)
		}
		if c := readEnvelope(cut); !json.Valid(cut) || string(c.arguments) != want || string(c.state) != `""` || string(c.answers) != "{}" ||
			string(c.meta) != string(e.meta) || string(c.name) != string(e.name) {
			t.Errorf("for the SDK: %s", cut)
		}
	}
}

func TestEnvelopeOfWhatIsNoRequest(t *testing.T) {
	for _, raw := range []string{
		``, ` `, `7`, `[]`, `[{"method":"tools/call"}]`, `{`, `{}x`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1 "b":2}`, `{"a":"}`, `{"a":[}`,
		`{"a":1}}`, `{a:1}`, `{"a":{"b":1}`, `{"\ud800\x":1}`, `{"method":"x","params":{"_meta":{]}}`, `"`, `{"a":\"}`, `{"a":,}`,
	} {
		e := readEnvelope([]byte(raw))
		if e.whole {
			t.Errorf("%s was read as a whole", raw)
		}
		if got := e.forSDK([]byte(raw), false); string(got) != raw {
			t.Errorf("%s became %s", raw, got)
		}
	}
}

func TestEnvelopeSeesKeysThatAreThereTwice(t *testing.T) {
	for raw, want := range map[string]string{
		`{"id":1,"id":2}`:                                            "id",
		`{"method":"a","m\u0065thod":"b"}`:                           "method",
		`{"params":{"arguments":1,"arguments":2}}`:                   "arguments",
		`{"params":{"_meta":{"progressToken":1,"progressToken":2}}}`: "progressToken",
		`{"params":{"_meta":{"x":1,"x":2}}}`:                         "",
		`{"params":{"arguments":{"a":1,"a":2}}}`:                     "", // ParseArgs sees it
	} {
		if e := readEnvelope([]byte(raw)); e.doubled != want {
			t.Errorf("%s: %q", raw, e.doubled)
		}
	}
}

// FuzzEnvelope holds the envelope against encoding/json: of what is JSON, both
// see the same, and what the SDK is given of the message is still that message.
func FuzzEnvelope(f *testing.F) {
	for _, s := range []string{
		call(versionModern, "echo", digits), call(legacy, "a\\u0062", `{"a":[{"b":"\\\""}]}`), listenBody,
		body(legacy, methodCallTool, `"name":"x","arguments":{},"x":1`, `,"progressToken":7`),
		body(versionModern, methodCallTool, `"inputResponses":{"a":[]},"name":"x","requestState":"s","arguments":{"n":1}`, ""),
		`{"params":{"arguments":[[]],"_meta":{}}}`, `{"params":null}`, `{"id":1,"id":2}`, `[]`, `{"a":"\u0000"}`, `{"params":{"arguments":{"a":]}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		e := readEnvelope(raw)
		if !json.Valid(raw) {
			return
		}
		var msg, params, meta map[string]json.RawMessage
		if json.Unmarshal(raw, &msg) != nil || msg == nil {
			if e.whole {
				t.Fatalf("%s was read as a request", raw)
			}
			return
		}
		_ = json.Unmarshal(msg["params"], &params) // no object: no members
		_ = json.Unmarshal(params["_meta"], &meta) // as above
		for key, field := range map[string]json.RawMessage{
			"method": e.method, "id": e.id, "params": e.params, "jsonrpc": e.jsonrpc,
		} {
			same(t, key, field, msg)
		}
		for key, field := range map[string]json.RawMessage{
			"name": e.name, "arguments": e.arguments, "_meta": e.meta, "requestState": e.state, "inputResponses": e.answers,
		} {
			same(t, key, field, params)
		}
		for key, field := range map[string]json.RawMessage{
			"progressToken": e.token, mcpsdk.MetaKeyLogLevel: e.level, mcpsdk.MetaKeyProtocolVersion: e.version,
			mcpsdk.MetaKeyClientInfo: e.info, mcpsdk.MetaKeyClientCapabilities: e.capabilities, metaRun: e.run, metaCall: e.call,
		} {
			same(t, key, field, meta)
		}
		cut := e.forSDK(raw, false)
		c := readEnvelope(cut)
		if e.whole && e.doubled == "" &&
			(e.state != nil && string(c.state) != `""` || e.answers != nil && string(c.answers) != "{}" || len(c.arguments) > max(len(e.arguments), len("{}"))) {
			t.Errorf("%s became %s", raw, cut)
		}
		if !json.Valid(cut) || c.whole != e.whole || !bytes.Equal(c.method, e.method) || !bytes.Equal(c.name, e.name) || !bytes.Equal(c.meta, e.meta) {
			t.Errorf("%s became %s", raw, cut)
		}
	})
}

func same(t *testing.T, key string, got json.RawMessage, all map[string]json.RawMessage) {
	t.Helper()
	if want := all[key]; !bytes.Equal(got, want) {
		t.Errorf("%s is %q, want %q", key, got, want)
	}
}
