// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"google.golang.org/grpc"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// ship is a state that says when it is closed.
type ship struct {
	name   string
	closed chan string
	fail   string
}

func (s *ship) Close() error {
	s.closed <- s.name
	switch s.fail {
	case "error":
		return errors.New("stuck")
	case "panic":
		panic("stuck")
	}
	return nil
}

// fakeStream takes what a call sends.
type fakeStream struct {
	grpc.ServerStream
	ctx  context.Context //nolint:containedctx // so has every stream
	sent chan *pluginv1.CallToolResponse
}

func (s *fakeStream) Context() context.Context { return s.ctx }

func (s *fakeStream) Send(m *pluginv1.CallToolResponse) error {
	s.sent <- m
	return nil
}

func newFakeStream(t *testing.T) *fakeStream {
	t.Helper()
	return &fakeStream{ctx: t.Context(), sent: make(chan *pluginv1.CallToolResponse, 16)}
}

func TestCallsKeepTheStateThatTheyBeganWith(t *testing.T) {
	closed := make(chan string, 8)
	begun, goOn := make(chan struct{}), make(chan struct{})
	type config struct {
		Name string `json:"name"`
	}
	p := New(Info{Name: "ships"}, func(_ context.Context, c config) (*ship, error) {
		return &ship{name: c.Name, closed: closed}, nil
	})
	AddTool(p, "name", func(s *ship, _ context.Context, in struct {
		Wait bool `json:"wait,omitempty"`
	},
	) (string, error) {
		if in.Wait {
			begun <- struct{}{}
			<-goOn
		}
		return s.name, nil
	})
	all := new(sessions)
	plugins := &pluginService{core: p.core, log: slog.New(slog.DiscardHandler), sessions: all, watched: new(watched)}
	tools := &toolService{calls: &calls{core: p.core, log: plugins.log, sessions: all}}
	configure := func(name string) {
		t.Helper()
		resp, err := plugins.Configure(t.Context(), &pluginv1.ConfigureRequest{Config: []byte(`{"name":"` + name + `"}`)})
		if err != nil || len(resp.GetDiagnostics()) > 0 {
			t.Fatal(resp, err)
		}
	}
	call := func(args string) *fakeStream {
		s := newFakeStream(t)
		if err := tools.CallTool(&pluginv1.CallToolRequest{Tool: "name", Arguments: []byte(args)}, s); err != nil {
			t.Error(err)
		}
		return s
	}
	want := func(s *fakeStream, name string) {
		t.Helper()
		if got := string((<-s.sent).GetResult().GetStructured()); got != `"`+name+`"` {
			t.Errorf("got %s, want %s", got, name)
		}
	}

	configure("argo")
	old := make(chan *fakeStream, 2)
	for range 2 {
		go func() { old <- call(`{"wait":true}`) }()
		<-begun
	}
	configure("beagle")
	want(call(``), "beagle")
	configure("calypso") // beagle has no calls
	if got := <-closed; got != "beagle" {
		t.Errorf("%s was closed, although it has calls", got)
	}
	goOn <- struct{}{}
	want(<-old, "argo")
	select {
	case got := <-closed:
		t.Errorf("%s was closed, although one call is left", got)
	default:
	}
	goOn <- struct{}{}
	want(<-old, "argo")
	if got := <-closed; got != "argo" {
		t.Errorf("closed %s", got)
	}
	all.replace(nil, plugins.log)
	if got := <-closed; got != "calypso" {
		t.Errorf("closed %s", got)
	}
	all.open.Wait()
	if _, ok := all.acquire(); ok {
		t.Error("a state is left")
	}
}

func TestAStateThatCannotBeClosedIsLetGo(*testing.T) {
	for _, how := range []string{"error", "panic"} {
		closed := make(chan string, 1)
		var all sessions
		log := slog.New(slog.DiscardHandler)
		all.replace(&session{state: &ship{closed: closed, fail: how}, live: new(live)}, log)
		all.replace(nil, log)
		<-closed
		all.open.Wait()
	}
}

func TestWhatACallSendsAfterItsEndIsDropped(t *testing.T) {
	var kept context.Context
	p := NewStateless(Info{Name: "late"})
	AddFunc(p, "late", func(ctx context.Context, _ struct{}) (string, error) {
		kept = ctx //nolint:fatcontext // what a careless handler does
		return "done", nil
	})
	all := new(sessions)
	all.replace(&session{state: new(None), live: newLive(p.core, nil)}, nil)
	s := newFakeStream(t)
	tools := &toolService{calls: &calls{core: p.core, log: slog.New(slog.DiscardHandler), sessions: all}}
	req := &pluginv1.CallToolRequest{Tool: "late", Context: &pluginv1.CallContext{WantsProgress: true}}
	if err := tools.CallTool(req, s); err != nil {
		t.Fatal(err)
	}
	Progress(kept, 1, 2, "late")
	if len(s.sent) != 1 {
		t.Errorf("%d messages", len(s.sent))
	}
}
