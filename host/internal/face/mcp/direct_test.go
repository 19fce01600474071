// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// twins are two faces over one catalogue, of which one sends everything through
// the SDK; the other is acquainted with the clients of body.
type twins struct {
	long, direct *host
	detours      atomic.Int64 // requests to direct that went through the SDK
}

func newTwins(t *testing.T) *twins {
	t.Helper()
	specs := []tool.Spec{spec("echo"), spec("fail"), spec("ask"), spec("pend"), spec("fault"), {
		Name: "route", Input: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`),
	}, {
		Name: "list", Effects: tool.ReadOnly, Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{"type":"array"}`),
	}}
	run := func(ctx context.Context, c *tool.Call) (tool.Outcome, error) {
		switch c.Name {
		case "fail":
			return nil, &tool.Error{Kind: tool.ToolFailed, Code: "x", Text: "no <b> & \u2028", Err: errors.New("x")}
		case "ask":
			return askOnce(ctx, c)
		case "pend":
			return &tool.Pending{Approval: "apr_X", Run: c.Run, Call: c.Key}, nil
		case "fault":
			return nil, &tool.Error{Kind: tool.ToolError, Text: "no", Unrecorded: true}
		case "list":
			return &tool.Result{Structured: json.RawMessage(`[ 1.10, "<&>\u2028é" ]`), Meta: json.RawMessage(`{"b":1.10,"a":"<"}`)}, nil
		default:
			return echo(ctx, c)
		}
	}
	w := &twins{long: newHost(t, Config{}, specs...), direct: newHost(t, Config{HostChecked: true}, specs...)}
	w.long.run, w.direct.run = run, run
	for _, era := range eras {
		ask(w.direct, era, call(era, "echo", `{}`))
	}
	through := w.direct.face.single
	w.direct.face.single = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.detours.Add(1)
		through.ServeHTTP(rw, r)
	})
	return w
}

func ask(h *host, era, body string, headers ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/mcp", strings.NewReader(body))
	setHeaders(req, era, body, headers...)
	w := httptest.NewRecorder()
	h.face.Handler().ServeHTTP(w, req)
	return w
}

// differ says how the answers of the twins differ.
func (w *twins) differ(era, body string, headers ...string) string {
	long, direct := ask(w.long, era, body, headers...), ask(w.direct, era, body, headers...)
	if long.Code != direct.Code || !bytes.Equal(long.Body.Bytes(), direct.Body.Bytes()) ||
		fmt.Sprint(long.Header()) != fmt.Sprint(direct.Header()) {
		return fmt.Sprintf("%s %v\n%d %v %s\n%d %v %s", body, headers, long.Code, long.Header(), long.Body, direct.Code, direct.Header(), direct.Body)
	}
	return ""
}

func TestADirectAnswerIsThatOfTheSDK(t *testing.T) {
	w := newTwins(t)
	for _, era := range eras {
		for _, body := range []string{
			call(era, "echo", digits), call(era, "echo", `{"a":1,"a":2}`), call(era, "echo", `7`), call(era, "fail", `{}`), call(era, "list", `{}`),
			call(era, "echo", "{\"a\":\"\u2028<&>\x01\"}"),
			body(era, methodCallTool, `"name":"echo"`, ""),
			body(era, methodCallTool, `"name":"echo"`, `,"toolwharf/run_id":"r","x":{"y":1.10}`),
			call(era, "ask", `{}`), call(era, "pend", `{}`), call(era, "fault", `{}`),
			body(era, methodCallTool, `"name":"pend"`, `,"toolwharf/run_id":"r","toolwharf/call_id":"c"`),
			retry(era, `"name":"ask"`, `"sealed.1"`, `{"approve":{"action":"accept","content":{"approve":true}},"x":7}`),
			retry(era, `"name":"ask"`, `"sealed.1"`, `{}`), retry(era, `"name":"ask"`, `"sealed.1"`, `null`),
			retry(era, `"name":"ask"`, `"other"`, `{}`), retry(era, `"name":"ask"`, `""`, `{}`), retry(era, `"name":"ask"`, `null`, `{}`),
			retry(era, `"name":"ask"`, `7`, `{}`), retry(era, `"name":"ask"`, `"`+strings.Repeat("s", maxState+1)+`"`, `{}`),
			retry(era, `"name":"ask"`, `"sealed.1"`, `[]`), retry(era, `"name":"ask"`, `"sealed.1"`, `{"a":tru}`),
			retry(era, `"name":"ask"`, `"sealed.1"`, `{"<&>":1,"<&>":2}`),
			strings.Replace(call(era, "echo", `{}`), `"id":1`, `"id":"a b<"`, 1),
			strings.Replace(call(era, "echo", `{}`), `"id":1`, `"id":-70`, 1),
		} {
			w.detours.Store(0)
			if d := w.differ(era, body); d != "" {
				t.Error(d)
			}
			if w.detours.Load() != 0 {
				t.Errorf("through the SDK: %s", body)
			}
		}
	}
}

func TestWhatIsNotPlainGoesThroughTheSDK(t *testing.T) {
	w := newTwins(t)
	m := versionModern
	plain := call(m, "echo", `{}`)
	for name, tt := range map[string]struct {
		body    string
		headers []string
	}{
		"another method":              {body(m, "server/discover", "", ""), nil},
		"an unknown tool":             {call(m, "nope", `{}`), nil},
		"an argument in a header":     {call(m, "route", `{"region":"eu"}`), []string{"Mcp-Param-Region", "us"}},
		"a further key":               {strings.Replace(plain, `"id":1`, `"id":1,"x":2`, 1), nil},
		"a further key of the params": {body(m, methodCallTool, `"name":"echo","x":1`, ""), nil},
		"no id":                       {strings.Replace(plain, `"id":1,`, ``, 1), nil},
		"an id with an escape":        {strings.Replace(plain, `"id":1`, `"id":"\u00e9"`, 1), nil},
		"another client":              {strings.Replace(plain, `"raw"`, `"other"`, 1), nil},
		"other capabilities":          {strings.Replace(plain, `"elicitation":{}`, `"elicitation":7`, 1), nil},
		"no capabilities":             {strings.Replace(plain, `clientCapabilities`, `clientIncapabilities`, 1), nil},
		"another version in the body": {strings.Replace(plain, m, "2025-11-25", 1), nil},
		"another version":             {plain, []string{"Mcp-Protocol-Version", "2099-01-01"}},
		"another method's header":     {plain, []string{"Mcp-Method", "x"}},
		"another name's header":       {plain, []string{headerName, "fail"}},
		"another media type":          {plain, []string{"Content-Type", "text/plain"}},
		"another answer":              {plain, []string{"Accept", "application/json"}},
		"a stream to go on with":      {plain, []string{"Last-Event-ID", "x_1"}},
	} {
		t.Run(name, func(t *testing.T) {
			w.detours.Store(0)
			if d := w.differ(m, tt.body, tt.headers...); d != "" {
				t.Error(d)
			}
			if w.detours.Load() == 0 {
				t.Error("answered directly")
			}
		})
	}
}

func TestAcquaintancesAreBounded(t *testing.T) {
	h := newHost(t, Config{HostChecked: true})
	for i := range 3 * maxAcquaintances {
		ask(h, versionModern, strings.Replace(call(versionModern, "echo", `{}`), `"raw"`, fmt.Sprintf(`"raw%d"`, i), 1))
		if n := len(h.face.clients.known); n == 0 || n > maxAcquaintances {
			t.Fatalf("%d of %d", n, i)
		}
	}
	before := len(h.face.clients.known)
	ask(h, versionModern, strings.Replace(call(versionModern, "echo", `{}`), `"raw"`, `"`+strings.Repeat("x", maxAcquaintance)+`"`, 1))
	if len(h.face.clients.known) != before {
		t.Error("a very long name was kept")
	}
}

// FuzzDirect holds the direct way against the SDK's.
func FuzzDirect(f *testing.F) {
	for _, era := range eras {
		f.Add(modern(era), call(era, "echo", digits))
		f.Add(modern(era), call(era, "fail", `{"a":[1,{"b":"\u00e9"}]}`))
		f.Add(modern(era), body(era, methodCallTool, `"name":"echo","arguments":null`, `,"toolwharf/run_id":"r"`))
		f.Add(modern(era), body(era, methodListTools, "", ""))
		f.Add(modern(era), call(era, "ask", `{}`))
		f.Add(modern(era), retry(era, `"name":"ask"`, `"sealed.1"`, `{"approve":{"action":"accept"},"x":7}`))
		f.Add(modern(era), body(era, methodCallTool, `"name":"pend"`, `,"toolwharf/run_id":"r","toolwharf/call_id":"\u0007"`))
		f.Add(modern(era), call(era, "echo", `{"a":]}`))
	}
	var w *twins
	f.Fuzz(func(t *testing.T, isModern bool, body string) {
		if w == nil {
			w = newTwins(t)
		}
		era := map[bool]string{true: versionModern, false: legacy}[isModern]
		e := readEnvelope([]byte(body))
		if e.streams() || e.asks(methodListen) || e.asks("initialize") || exotic(e) {
			return
		}
		if name, ok := textOf(e.name); ok && strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r > 0x7e }) {
			return // no header can say it
		}
		if d := w.differ(era, body); d != "" {
			t.Error(d)
		}
	})
}

// exotic reports whether the SDK loses what the direct way keeps: a number in _meta
// that is no float64.
func exotic(e *envelope) bool {
	var meta map[string]any
	return e.meta != nil && json.Unmarshal(e.meta, &meta) != nil
}
