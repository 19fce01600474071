// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// secretive hides what is called secret... from everybody but ann.
func secretive(p tool.Principal, s *tool.Spec) bool {
	return p.Subject == "ann" || !strings.HasPrefix(s.Name, "secret")
}

// seeing is a policy that does not change.
func seeing(visible func(tool.Principal, *tool.Spec) bool) func() *executor.Policy {
	p := &executor.Policy{Visible: visible}
	return func() *executor.Policy { return p }
}

var (
	ann = tool.Principal{Kind: tool.Token, ClientID: "desk", Subject: "ann"}
	bob = tool.Principal{Kind: tool.Token, ClientID: "desk", Subject: "bob"}
)

// as serves the face to one principal.
func (h *host) as(p tool.Principal) *host {
	h.t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.face.Handler().ServeHTTP(w, r.WithContext(WithPrincipal(r.Context(), p)))
	}))
	h.t.Cleanup(s.Close)
	return &host{t: h.t, registry: h.registry, face: h.face, run: h.run, url: s.URL}
}

func TestAListHasWhatItsReaderMayKnowOf(t *testing.T) {
	var specs []tool.Spec
	for i := range 5 {
		specs = append(specs, spec(fmt.Sprintf("open%d", i)), spec(fmt.Sprintf("secret%d", i)))
	}
	h := newHost(t, Config{PageSize: 2, Policy: seeing(secretive)}, specs...)
	open := []string{"open0", "open1", "open2", "open3", "open4"}
	all := append(slices.Clone(open), "secret0", "secret1", "secret2", "secret3", "secret4")
	for _, era := range eras {
		if got := h.as(ann).pages(era, nil); !slices.Equal(got, all) {
			t.Errorf("%s: ann sees %v", era, got)
		}
		if got := h.as(bob).pages(era, nil); !slices.Equal(got, open) {
			t.Errorf("%s: bob sees %v", era, got)
		}
	}
	h.replace("more", spec("secret9"), spec("open9"))
	if got := h.as(bob).pages(versionModern, nil); !slices.Equal(got, append(open, "open9")) {
		t.Errorf("later bob sees %v", got)
	}
	p := h.stdio(t.Context()) // this user, who is not ann
	p.send(body(versionModern, methodListTools, "", ""))
	if raw := p.next().Result; strings.Contains(string(raw), "secret") || !strings.Contains(string(raw), "open0") {
		t.Errorf("over stdio: %s", raw)
	}
}

// Byte for byte and header for header: what is said of a hidden tool is said of
// one that is not there.
func TestACallOfAHiddenToolIsAnsweredLikeOneThatIsNotThere(t *testing.T) {
	header := `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`
	for _, checked := range []bool{false, true} {
		h := newHost(t, Config{Policy: seeing(secretive), HostChecked: checked}, spec("echo"), spec("secret0"),
			tool.Spec{Name: "secret1", Input: json.RawMessage(header)}, tool.Spec{Name: "route", Input: json.RawMessage(header)})
		h.face.config.Executor = hiding{h}
		caller := h.as(bob)
		for _, era := range eras {
			h.as(ann).answer(era, call(era, "secret0", `{}`)) // both eras' clients are acquaintances
		}
		for what, request := range map[string]func(era, name string) (body string, headers []string){
			"a call":           func(era, name string) (string, []string) { return call(era, name, `{}`), nil },
			"with an argument": func(era, name string) (string, []string) { return call(era, name, `{"region":"eu"}`), nil },
			"with another header": func(era, name string) (string, []string) {
				return call(era, name, `{"region":"eu"}`), []string{"Mcp-Param-Region", "us"}
			},
			"with no arguments": func(era, name string) (string, []string) {
				return body(era, methodCallTool, `"name":"`+name+`"`, ""), nil
			},
			"with bad arguments":       func(era, name string) (string, []string) { return call(era, name, `{"a":1,"a":2}`), nil },
			"with arguments of a kind": func(era, name string) (string, []string) { return call(era, name, `[1]`), nil },
			"with two names": func(era, name string) (string, []string) {
				return body(era, methodCallTool, `"name":"route","name":"`+name+`","arguments":{"region":"eu"}`, ""), []string{headerName, name}
			},
			"with two names, the other last": func(era, name string) (string, []string) {
				return body(era, methodCallTool, `"name":"`+name+`","name":"route","arguments":{"region":"eu"}`, ""), []string{headerName, name}
			},
			"with an escaped name": func(era, name string) (string, []string) {
				return strings.Replace(call(era, name, `{"region":"eu"}`), `"name":"s`, `"name":"\u0073`, 1), []string{headerName, name}
			},
			"with an escaped method": func(era, name string) (string, []string) {
				return strings.Replace(call(era, name, `{"region":"eu"}`), `tools/call`, `tools\/call`, 1), nil
			},
			"with a state": func(era, name string) (string, []string) {
				return body(era, methodCallTool, `"name":"`+name+`","requestState":"x"`, ""), nil
			},
			"with progress": func(era, name string) (string, []string) {
				return body(era, methodCallTool, `"name":"`+name+`","arguments":{}`, `,"progressToken":7`), nil
			},
			"in a batch": func(era, name string) (string, []string) { return "[" + call(era, name, `{"region":"eu"}`) + "]", nil },
			"of no media type": func(era, name string) (string, []string) {
				return call(era, name, `{}`), []string{"Accept", "text/plain"}
			},
		} {
			for _, era := range eras {
				for _, hidden := range []string{"secret0", "secret1"} {
					ask := func(name string) string {
						b, headers := request(era, name)
						res, raw := caller.post(era, b, headers...)
						return fmt.Sprint(res.StatusCode, res.Header.Get("Content-Type"), " ", strings.ReplaceAll(string(raw), name, "NAME"))
					}
					if got, want := ask(hidden), ask("secretX"); got != want {
						t.Errorf("%s, %s, %s:\n%s\nbut of one that is not there:\n%s", what, era, hidden, got, want)
					}
				}
			}
		}
		for _, era := range eras {
			if m := caller.ask(era, call(era, "secret0", `{}`)); m.Error == nil || m.Error.Code != -32602 || m.Error.Message != `unknown tool "secret0"` {
				t.Errorf("%s: %+v", era, m)
			}
		}
	}
}

// hiding is an executor that hides what the face hides.
type hiding struct{ *host }

func (h hiding) Do(ctx context.Context, c *tool.Call) (tool.Outcome, error) {
	if o, ok := h.registry.Snapshot().Find(c.Name); ok && !secretive(c.Principal, &o.Spec) {
		return nil, &executor.UnknownError{Op: c.Op, Name: c.Name}
	}
	return h.host.Do(ctx, c)
}

func (h hiding) Reject(ctx context.Context, c *tool.Call, err *tool.Error) error {
	if o, ok := h.registry.Snapshot().Find(c.Name); !ok || !secretive(c.Principal, &o.Spec) {
		return &executor.UnknownError{Op: c.Op, Name: c.Name}
	}
	return h.host.Reject(ctx, c, err)
}

func TestArgumentsInHeadersAreStillHeldAgainstWhatIsVisible(t *testing.T) {
	h := newHost(t, Config{Policy: seeing(secretive), HostChecked: true}, tool.Spec{
		Name: "secret1", Input: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`),
	})
	m := h.as(ann).ask(versionModern, call(versionModern, "secret1", `{"region":"eu"}`), "Mcp-Param-Region", "us")
	if m.Error == nil || !strings.Contains(m.Error.Message, "Mcp-Param-Region") {
		t.Errorf("%+v", m)
	}
}

func TestWhoSeesNoDifferenceHearsOfNoChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, Config{Policy: seeing(func(_ tool.Principal, s *tool.Spec) bool { return !strings.HasPrefix(s.Name, "secret") })})
		for _, era := range eras {
			p := h.stdio(context.Background())
			if modern(era) {
				p.send(listenBody)
				p.next()
			} else {
				p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + legacy + `","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
				p.next()
				p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			}
			synctest.Wait()
			var told atomic.Int64
			go func() {
				for {
					if _, err := p.out.ReadBytes('\n'); err != nil {
						return
					}
					told.Add(1)
				}
			}()
			steps := []struct {
				specs []tool.Spec
				want  int64
			}{
				{[]tool.Spec{spec("secret1")}, 0},
				{[]tool.Spec{spec("secret1"), spec("secret2")}, 0},
				{[]tool.Spec{spec("secret2"), spec("open")}, 1},
				{[]tool.Spec{spec("open")}, 1},
				{nil, 2},
			}
			for i, step := range steps {
				h.replace("more", step.specs...)
				time.Sleep(time.Minute) // of the bubble
				synctest.Wait()
				if got := told.Load(); got != step.want {
					t.Errorf("%s, after change %d: told %d times, want %d", era, i, got, step.want)
				}
			}
			_ = p.in.Close()
			if err := <-p.ended; err != nil {
				t.Error(err)
			}
		}
		h.face.Close()
	})
}

func TestAListenStreamHearsWhatItsPrincipalCanSee(t *testing.T) {
	h := newHost(t, Config{Policy: seeing(secretive)})
	a, _ := h.as(ann).open(t.Context(), listenBody)
	b, _ := h.as(bob).open(t.Context(), listenBody)
	a.next()
	b.next()
	h.replace("more", spec("secret1"))
	if m, ok := a.next(); !ok || m.Method != noticeChanged {
		t.Errorf("ann hears %+v", m)
	}
	h.replace("other", spec("open"))
	if m, ok := b.next(); !ok || m.Method != noticeChanged {
		t.Errorf("bob hears %+v", m)
	}
	h.face.Close()
	if m, ok := b.next(); !ok || m.Result == nil { // of one change only
		t.Errorf("and then %+v", m)
	}
}

func TestAChangedPolicyIsHeardOfByThoseWhoSeeADifference(t *testing.T) {
	all, some := &executor.Policy{}, &executor.Policy{Visible: secretive}
	var now atomic.Pointer[executor.Policy]
	now.Store(all)
	h := newHost(t, Config{Policy: now.Load}, spec("echo"), spec("secret1"))
	a, _ := h.as(ann).open(t.Context(), listenBody)
	b, _ := h.as(bob).open(t.Context(), listenBody)
	a.next()
	b.next()
	for i, want := range [][]string{{"echo"}, {"echo", "secret1"}} {
		now.Store([]*executor.Policy{some, all}[i])
		h.face.Recheck()
		if m, ok := b.next(); !ok || m.Method != noticeChanged {
			t.Errorf("bob hears %+v", m)
		}
		if got := h.as(bob).pages(versionModern, nil); !slices.Equal(got, want) {
			t.Errorf("bob sees %v", got)
		}
	}
	h.replace("more", spec("open"))
	if m, ok := b.next(); !ok || m.Method != noticeChanged {
		t.Errorf("bob hears %+v", m)
	}
	if m, ok := a.next(); !ok || m.Method != noticeChanged {
		t.Errorf("ann hears %+v", m)
	}
	h.face.Close()
	if m, ok := a.next(); !ok || m.Result == nil { // of the tool alone
		t.Errorf("and then %+v", m)
	}
}

func TestWhatIsNotSettledIsAskedEachTime(t *testing.T) {
	var settled, hidden atomic.Bool
	p := &executor.Policy{
		Visible: func(tool.Principal, *tool.Spec) bool { return !hidden.Load() }, Settled: settled.Load,
	}
	h := newHost(t, Config{Policy: func() *executor.Policy { return p }})
	seen := func() int { return len(h.face.listed.now().seenBy(bob)[tools]) }
	if got := seen(); got != 1 {
		t.Errorf("%d tools", got)
	}
	hidden.Store(true)
	if got := seen(); got != 0 {
		t.Errorf("%d tools", got)
	}
	settled.Store(true)
	hidden.Store(false)
	if got := seen(); got != 1 {
		t.Errorf("%d tools", got)
	}
	settled.Store(false)
	hidden.Store(true)
	if got := seen(); got != 0 {
		t.Errorf("%d tools of before", got)
	}
}

func TestWhatIsRememberedOfPrincipalsIsBounded(t *testing.T) {
	h := newHost(t, Config{Policy: seeing(secretive)}, spec("echo"), spec("secret"))
	c := h.face.listed.now()
	for i := range 3 * maxViews {
		if got := c.seenBy(tool.Principal{Kind: tool.Named, Subject: fmt.Sprint(i)}); len(got[tools]) != 1 {
			t.Fatalf("%d tools", len(got[tools]))
		}
		if len(c.views) > maxViews {
			t.Fatalf("%d are remembered", len(c.views))
		}
	}
	if &c.seenBy(ann)[tools][0] != &c.lists[tools][0] || c.held >= maxViews {
		t.Error("who sees all costs as much as who does not")
	}
	c.held = maxViewed
	c.seenBy(bob)
	if len(c.views) != 1 || c.held != 1 {
		t.Errorf("%d views of %d tools", len(c.views), c.held)
	}
}

func BenchmarkListOfAThousandAmongTwoThousand(b *testing.B) {
	r := registry.New()
	var offers []*registry.Offer
	for i := range 2000 {
		s := spec(fmt.Sprintf("%s%05d", []string{"open", "secret"}[i%2], i))
		s.Adapter = "a"
		s.Seal()
		offers = append(offers, &registry.Offer{Spec: s})
	}
	if _, err := r.Replace("a", nobody{}, offers); err != nil {
		b.Fatal(err)
	}
	f := New(Config{Name: "toolwharf", Version: "1", Registry: r, Executor: echoing{}, Policy: seeing(secretive), HostChecked: true})
	b.Cleanup(f.Close)
	through(b, f.Handler(), versionModern, body(versionModern, methodListTools, "", ""))
}
