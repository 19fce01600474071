// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

const noticeUpdated = "notifications/resources/updated"

func TestAListenStreamHearsOfTheResourcesThatItMayHearOf(t *testing.T) {
	h := newHost(t, Config{}).serve().library()
	s, _ := h.open(t.Context(), body(versionModern, methodListen,
		`"notifications":{"resourceSubscriptions":["note://1","note://denied","note://7","nothing://there","note://1"]}`, ""))
	m, ok := s.next()
	if !ok || m.Method != noticeAck || !strings.Contains(string(m.Params), `"resourceSubscriptions":["note://1","note://7"]`) {
		t.Fatalf("first %s", m.Params)
	}
	h.registry.Updated("library", "note://7")
	h.registry.Updated("library", "note://2") // nobody asked
	if m, ok = s.next(); !ok || m.Method != noticeUpdated || !strings.Contains(string(m.Params), `"uri":"note://7"`) {
		t.Errorf("then %+v", m)
	}
	h.registry.Updated("library", "note://1")
	if m, ok = s.next(); !ok || m.Method != noticeUpdated || !strings.Contains(string(m.Params), `"uri":"note://1"`) {
		t.Errorf("then %+v", m)
	}
}

func TestAStdioClientSubscribesAndUnsubscribes(t *testing.T) {
	h := newHost(t, Config{}).library()
	p := h.stdio(t.Context())
	p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + legacy + `","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	if m := p.next(); !strings.Contains(string(m.Result), `"resources":{"listChanged":true,"subscribe":true}`) {
		t.Errorf("it is promised %s", m.Result)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for i, c := range []struct {
		method, uri string
		fails       bool
	}{
		{methodSubscribe, "note://1", false},
		{methodSubscribe, "note://1", false},
		{methodSubscribe, "note://denied", true},
		{methodSubscribe, "nothing://there", true},
		{methodSubscribe, "note://2", false},
		{methodUnsubscribe, "note://2", false},
		{methodUnsubscribe, "note://2", false},
	} {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":{"uri":"%s"}}`, i+2, c.method, c.uri))
		if m := p.next(); (m.Error != nil) != c.fails {
			t.Errorf("%s of %s: %+v", c.method, c.uri, m)
		}
	}
	h.registry.Updated("library", "note://2")
	h.registry.Updated("library", "note://1")
	if m := p.next(); m.Method != noticeUpdated || !strings.Contains(string(m.Params), `"uri":"note://1"`) {
		t.Errorf("then %+v", m)
	}
}

func TestSubscriptionsAreBoundedAndEndWithTheirStream(t *testing.T) {
	h := newHost(t, Config{}).serve().library()
	uris := make([]string, 101)
	for i := range uris {
		uris[i] = fmt.Sprintf("%q", fmt.Sprintf("note://%d", i))
	}
	m := h.ask(versionModern, body(versionModern, methodListen, `"notifications":{"resourceSubscriptions":[`+strings.Join(uris, ",")+`]}`, ""))
	if m.Error == nil || m.Error.Code != -32602 {
		t.Errorf("101 are %+v", m)
	}
	wanted := make(chan []string, 9)
	go func() {
		for uris := range h.registry.Wanted(t.Context(), "library") {
			wanted <- slices.Clone(uris)
		}
	}()
	s, res := h.open(t.Context(), body(versionModern, methodListen, `"notifications":{"resourceSubscriptions":["note://1"]}`, ""))
	if _, ok := s.next(); !ok {
		t.Fatal("no stream")
	}
	if got := <-wanted; !slices.Equal(got, []string{"note://1"}) {
		t.Errorf("wanted %v", got)
	}
	_ = res.Body.Close()
	if got := <-wanted; len(got) != 0 {
		t.Errorf("then wanted %v", got)
	}
}

func TestWhoMayNoLongerKnowOfAResourceHearsOfItNoMore(t *testing.T) {
	var hidden atomic.Bool
	policy := &executor.Policy{
		Visible: func(_ tool.Principal, s *tool.Spec) bool { return !hidden.Load() || s.Name != "resources:note://1" },
		Settled: func() bool { return false },
	}
	h := newHost(t, Config{Policy: func() *executor.Policy { return policy }}).serve().library()
	s, _ := h.open(t.Context(), body(versionModern, methodListen, `"notifications":{"resourceSubscriptions":["note://1","note://7"]}`, ""))
	if _, ok := s.next(); !ok {
		t.Fatal("no stream")
	}
	for _, step := range []struct {
		hide bool
		want string
	}{{false, "note://1"}, {true, "note://7"}, {false, "note://1"}} {
		hidden.Store(step.hide)
		h.registry.Updated("library", "note://1")
		if step.hide {
			h.registry.Updated("library", "note://7")
		}
		if m, ok := s.next(); !ok || m.Method != noticeUpdated || !strings.Contains(string(m.Params), step.want) {
			t.Errorf("hidden %v: heard %s of %s", step.hide, m.Method, m.Params)
		}
	}
}

func TestAnOlderHTTPClientIsNotPromisedWhatItCannotHave(t *testing.T) {
	h := newHost(t, Config{}).serve().library()
	m := h.ask(legacy, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+legacy+`","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	if strings.Contains(string(m.Result), "subscribe") || strings.Contains(string(m.Result), "listChanged") {
		t.Errorf("promised %s", m.Result)
	}
	if m = h.ask(legacy, body(legacy, methodSubscribe, `"uri":"note://1"`, "")); m.Error == nil || m.Error.Code != -32601 {
		t.Errorf("subscribed: %+v", m)
	}
}
