// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestAStdioClientSurvivesItsOwnNonsense(t *testing.T) {
	h := newHost(t, Config{})
	p := h.stdio(t.Context())
	for _, tt := range []struct {
		line string
		code int64
		id   string
	}{
		{`{"jsonrpc":"2.0","id":1,"meth`, -32700, "null"},
		{`nonsense`, -32700, "null"},
		{`{"hello":"world"}`, -32600, "null"},
		{`7`, -32600, "null"},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600, "1"},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, -32600, "null"},
		{strings.Repeat("x", maxLine+1), -32600, "null"},
	} {
		p.send(tt.line)
		if m := p.next(); m.Error == nil || m.Error.Code != tt.code || string(m.ID) != tt.id {
			t.Errorf("%.40s: %+v", tt.line, m)
		}
	}
	p.send(`{"method":"tools/call","params":{"x":"` + strings.Repeat("x", maxLine) + `"},"jsonrpc":"2.0","id":"long"}`)
	if m := p.next(); m.Error == nil || m.Error.Code != -32600 || string(m.ID) != `"long"` {
		t.Errorf("a request that is too long: %+v", m)
	}
	p.send("\r\n\n  ")
	p.send(call(versionModern, "echo", `{"s":"`+strings.Repeat("x", 1<<20)+`"}`) + "\r")
	if m := p.next(); m.Result == nil {
		t.Errorf("the next call: %+v", m.Error)
	}
	_ = p.in.Close()
	if err := within(t, p.ended, "the end"); err != nil {
		t.Error(err)
	}
}

func TestStdioDigitsOfProgressTokensSurvive(t *testing.T) {
	h := newHost(t, Config{})
	c := make(chan string, 1)
	p := h.stdio(t.Context())
	p.send(body(versionModern, methodCallTool, `"name":"echo","arguments":{"a":1,"a":1}`, `,"progressToken":9007199254740993`))
	p.next()
	p.send(body(versionModern, methodCallTool, `"name":"echo","arguments":{}`, `,"progressToken":9007199254740993`))
	p.next()
	c <- string(h.last().Client.Capabilities)
	if got := <-c; got != `{"elicitation":{}}` || !h.last().Client.Progress {
		t.Errorf("capabilities %s", got)
	}
}

func TestOlderStdioClientsSetTheirLogLevelOnce(t *testing.T) {
	h := newHost(t, Config{})
	p := h.stdio(t.Context())
	p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + legacy + `","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	p.next()
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.send(call(legacy, "echo", `{}`))
	p.next()
	if got := h.last().Client.LogLevel; got != "" {
		t.Errorf("level %q before it was set", got)
	}
	p.send(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}`)
	p.next()
	p.send(call(legacy, "echo", `{}`))
	p.next()
	if got := h.last().Client.LogLevel; got != "error" || h.last().Events == nil {
		t.Errorf("level %q", got)
	}
}

func TestStdioFailsWithItsStreams(t *testing.T) {
	h := newHost(t, Config{})
	broken := errors.New("broken")
	r, w := io.Pipe()
	_ = w.CloseWithError(broken)
	if err := h.face.ServeStdio(t.Context(), r, io.Discard); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestLastLineNeedsNoEnd(t *testing.T) {
	h := newHost(t, Config{})
	var out strings.Builder
	if err := h.face.ServeStdio(t.Context(), strings.NewReader(call(versionModern, "echo", `{"n":1}`)), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"structuredContent":{"n":1}`) {
		t.Error(out.String())
	}
}

func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	r := bufio.NewReader(strings.NewReader("a\n" + long[:maxLine-1] + "\n" + long + "\n" + "b\n" + long + "x"))
	for i, want := range []struct {
		length int
		err    error
	}{{2, nil}, {maxLine, nil}, {0, errLineTooLong}, {2, nil}, {0, errLineTooLong}, {0, io.EOF}} {
		line, err := readLine(r)
		if len(line) != want.length || !errors.Is(err, want.err) {
			t.Errorf("line %d: %d bytes, %v", i, len(line), err)
		}
	}
}
