// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

const (
	noticeChanged = "notifications/tools/list_changed"
	noticeAck     = "notifications/subscriptions/acknowledged"
)

var listenBody = body(versionModern, methodListen, `"notifications":{"toolsListChanged":true,"promptsListChanged":true}`, "")

// changes are all that clients are told of, each on top of the one before.
var changes = map[string]func(*host){
	"a tool comes":          func(h *host) { h.replace("more", spec("more")) },
	"a tool goes":           func(h *host) { h.replace("test") },
	"a description changes": func(h *host) { s := spec("echo"); s.Description = "new"; h.replace("test", s) },
	"a schema changes": func(h *host) {
		s := spec("echo")
		s.Input = []byte(`{"type":"object"}`)
		h.replace("test", s)
	},
}

func TestAListenStreamHearsOfEveryChange(t *testing.T) {
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, Config{}).serve()
			s, res := h.open(t.Context(), listenBody)
			if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
				t.Fatalf("Content-Type %s", got)
			}
			if m, ok := s.next(); !ok || m.Method != noticeAck || !strings.Contains(string(m.Params), `"notifications":{"toolsListChanged":true`) {
				t.Fatalf("first %+v", m)
			}
			change(h)
			if m, ok := s.next(); !ok || m.Method != noticeChanged || !strings.Contains(string(m.Params), `"io.modelcontextprotocol/subscriptionId":1`) {
				t.Errorf("then %+v", m)
			}
		})
	}
}

func TestStdioClientsHearOfEveryChange(t *testing.T) {
	for name, change := range changes {
		for _, era := range eras {
			t.Run(name+"/"+era, func(t *testing.T) {
				h := newHost(t, Config{})
				p := h.stdio(t.Context())
				if modern(era) {
					p.send(listenBody)
					if m := p.next(); m.Method != noticeAck {
						t.Fatalf("first %+v", m)
					}
				} else {
					p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + legacy + `","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
					p.next()
					p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				}
				change(h)
				if m := p.next(); m.Method != noticeChanged {
					t.Errorf("then %+v", m)
				}
			})
		}
	}
}

func TestOfficialClientHearsOfAChange(t *testing.T) {
	for _, at := range []string{"http/" + versionModern, "stdio/" + versionModern, "stdio/" + legacy} {
		t.Run(at, func(t *testing.T) {
			transport, era, _ := strings.Cut(at, "/")
			h := newHost(t, Config{}).serve()
			heard := make(chan struct{}, 9)
			s := h.connect(era, transport, &mcpsdk.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcpsdk.ToolListChangedRequest) { heard <- struct{}{} },
			})
			// The client does not wait until its listen stream is open.
			for i := 0; ; i++ {
				h.replace("more", spec(fmt.Sprintf("more%d", i)))
				select {
				case <-heard:
				case <-time.After(50 * time.Millisecond):
					continue
				}
				break
			}
			tools, err := s.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 2 {
				t.Errorf("listed %+v, %v", tools, err)
			}
		})
	}
}

func TestManyChangesAtOnceAreOneNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, Config{})
		p := h.stdio(context.Background())
		p.send(listenBody)
		p.next()
		for i := range 100 {
			h.replace("more", spec(fmt.Sprintf("more%d", i)))
		}
		var got []string
		go func() {
			for {
				line, err := p.out.ReadString('\n')
				if err != nil {
					return
				}
				got = append(got, line)
			}
		}()
		time.Sleep(time.Minute) // of the bubble
		synctest.Wait()
		if len(got) != 1 || !strings.Contains(got[0], noticeChanged) {
			t.Errorf("%d messages: %s", len(got), got)
		}
		_ = p.in.Close()
		if err := <-p.ended; err != nil {
			t.Error(err)
		}
		h.face.Close()
	})
}

func TestNothingIsSaidWhenClientsWouldSeeNoDifference(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, Config{})
		p := h.stdio(context.Background())
		p.send(listenBody)
		p.next()
		s := spec("echo")
		s.Tags = []string{"new"}
		h.replace("test", s)
		silent := true
		go func() {
			if _, err := p.out.ReadByte(); err == nil {
				silent = false
			}
		}()
		time.Sleep(time.Minute) // of the bubble
		synctest.Wait()
		if !silent {
			t.Error("a notice went out")
		}
		_ = p.in.Close()
		if err := <-p.ended; err != nil {
			t.Error(err)
		}
		h.face.Close()
	})
}

func TestListenStreamsAreBoundedForEachPrincipal(t *testing.T) {
	h := newHost(t, Config{MaxListens: 2})
	who := make(chan tool.Principal, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.face.Handler().ServeHTTP(w, r.WithContext(WithPrincipal(r.Context(), <-who)))
	}))
	t.Cleanup(server.Close)
	h.url = server.URL
	open := func(p tool.Principal) (*stream, *http.Response) {
		who <- p
		return h.open(t.Context(), listenBody)
	}
	ann, bob := tool.Principal{Kind: tool.Token, Subject: "ann"}, tool.Principal{Kind: tool.Token, Subject: "bob"}
	first, res := open(ann)
	first.next()
	second, _ := open(ann)
	second.next()
	_, third := open(ann)
	raw, _ := io.ReadAll(third.Body)
	if m := decode[message](t, raw); third.StatusCode != http.StatusTooManyRequests || m.Error == nil || string(m.ID) != "1" {
		t.Errorf("the third of one principal: %d %s", third.StatusCode, raw)
	}
	other, _ := open(bob)
	if m, ok := other.next(); !ok || m.Method != noticeAck {
		t.Errorf("another principal's: %+v", m)
	}
	_ = res.Body.Close() // there is room again as soon as the server has noticed
	for {
		_, again := open(ann)
		if again.StatusCode == http.StatusOK {
			break
		}
		_ = again.Body.Close()
	}
}

func TestStdioListensAreBoundedToo(t *testing.T) {
	h := newHost(t, Config{MaxListens: 1})
	p := h.stdio(t.Context())
	p.send(listenBody)
	p.next()
	p.send(strings.Replace(listenBody, `"id":1`, `"id":2`, 1))
	if m := p.next(); m.Error == nil || m.Error.Code != errTooManyListens.Code {
		t.Errorf("%+v", m)
	}
}

func TestCloseEndsListenStreamsWithTheirResult(t *testing.T) {
	h := newHost(t, Config{}).serve()
	s, _ := h.open(t.Context(), listenBody)
	s.next()
	p := h.stdio(t.Context())
	p.send(listenBody)
	p.next()
	go func() { _, _ = io.Copy(io.Discard, p.out) }()
	h.face.Close()
	if m, ok := s.next(); !ok || string(m.ID) != "1" || m.Result == nil {
		t.Errorf("last message %+v", m)
	}
	if m, ok := s.next(); ok {
		t.Errorf("and then %+v", m)
	}
	if err := within(t, p.ended, "the end of stdio"); err != nil {
		t.Error(err)
	}
}

func TestASilentListenStreamShowsThatItLives(t *testing.T) {
	h := newHost(t, Config{})
	h.face.beat = time.Millisecond
	h.serve()
	s, _ := h.open(t.Context(), listenBody)
	s.next()
	for range 3 {
		line, err := s.r.ReadString('\n')
		if err != nil || line != "\n" && line != ": listening\n" {
			t.Fatalf("%q, %v", line, err)
		}
	}
}
