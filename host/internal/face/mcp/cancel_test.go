// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// hanging runs until it is cancelled and says so.
func hanging(h *host) (started, ended chan struct{}) {
	started, ended = make(chan struct{}), make(chan struct{})
	h.run = func(ctx context.Context, _ *tool.Call) (tool.Outcome, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		return nil, tool.Interrupted(ctx, "waiting")
	}
	return started, ended
}

func TestADisconnectCancelsTheCall(t *testing.T) {
	for _, era := range eras {
		for kind, meta := range map[string]string{"json": "", "events": `,"progressToken":1`} {
			t.Run(era+"/"+kind, func(t *testing.T) {
				eachWay(t, Config{}, func(t *testing.T, h *host) {
					started, ended := hanging(h)
					ctx, leave := context.WithCancel(t.Context())
					left := make(chan error, 1)
					go func() {
						res, err := h.do(ctx, era, body(era, methodCallTool, `"name":"echo","arguments":{"n":1}`, meta))
						if err == nil {
							_, err = io.Copy(io.Discard, res.Body)
							_ = res.Body.Close()
						}
						left <- err
					}()
					within(t, started, "the start of the call")
					leave()
					within(t, ended, "the cancel")
					if err := within(t, left, "the end of the request"); err == nil {
						t.Error("the request succeeded")
					}
				})
			})
		}
	}
}

func TestStdioCancelsWhatIsCancelledAndAnswersWhatRunsAtTheEnd(t *testing.T) {
	h := newHost(t, Config{})
	started, ended := hanging(h)
	p := h.stdio(t.Context())
	p.send(call(versionModern, "echo", `{}`))
	within(t, started, "the start of the call")
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	within(t, ended, "the cancel")
	p.next()
}

func TestCallsAtTheEndOfStdinAreAnswered(t *testing.T) {
	h := newHost(t, Config{})
	started, goOn := make(chan struct{}), make(chan struct{})
	h.run = func(ctx context.Context, c *tool.Call) (tool.Outcome, error) {
		close(started)
		select {
		case <-goOn:
			return echo(ctx, c)
		case <-ctx.Done():
			return nil, tool.Interrupted(ctx, "waiting")
		}
	}
	p := h.stdio(t.Context())
	p.send(call(versionModern, "echo", `{"n":1}`))
	within(t, started, "the start of the call")
	_ = p.in.Close()
	close(goOn)
	if a := decode[answer](t, p.next().Result); a.IsError || a.text() != `{"n":1}` {
		t.Errorf("%+v", a)
	}
	if err := within(t, p.ended, "the end"); err != nil {
		t.Error(err)
	}
}

func TestCallsThatGoOnAfterTheEndOfStdinAreCancelled(t *testing.T) {
	h := newHost(t, Config{})
	h.face.grace = 10 * time.Millisecond
	started, ended := hanging(h)
	p := h.stdio(t.Context())
	p.send(call(versionModern, "echo", `{}`))
	within(t, started, "the start of the call")
	_ = p.in.Close()
	within(t, ended, "the cancel")
	if err := within(t, p.ended, "the end"); err != nil {
		t.Error(err)
	}
}

func TestStdioEndsWithItsContext(t *testing.T) {
	h := newHost(t, Config{})
	started, ended := hanging(h)
	ctx, leave := context.WithCancel(t.Context())
	p := h.stdio(ctx)
	go func() { _, _ = io.Copy(io.Discard, p.out) }()
	p.send(call(versionModern, "echo", `{}`))
	within(t, started, "the start of the call")
	leave()
	within(t, ended, "the cancel")
	if err := within(t, p.ended, "the end"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestStdioEndsThoughItsClientDoesNotRead(t *testing.T) {
	h := newHost(t, Config{})
	h.face.grace = 10 * time.Millisecond
	ctx, leave := context.WithCancel(t.Context())
	ran := make(chan struct{})
	h.run = func(ctx context.Context, c *tool.Call) (tool.Outcome, error) {
		defer close(ran)
		return echo(ctx, c)
	}
	p := h.stdio(ctx)
	p.send(call(versionModern, "echo", `{}`))
	within(t, ran, "the call")
	leave()
	_ = p.in.Close()
	within(t, p.closed, "the end of ServeStdio")
}

// A call that is held for approval runs as long as its client waits: whether it
// disconnects or sends notifications/cancelled, the executor's context ends, and
// with it the request for approval.
func TestGivingUpWhileHeldForApprovalReachesTheExecutor(t *testing.T) {
	for _, transport := range []string{"http", "stdio"} {
		for _, era := range eras {
			t.Run(transport+"/"+era, func(t *testing.T) {
				eachWay(t, Config{}, func(t *testing.T, h *host) {
					s := h.connect(era, transport, nil)
					for range 2 { // on the direct way the client is an acquaintance by now
						held, withdrawn := hanging(h)
						ctx, giveUp := context.WithCancel(t.Context())
						ended := make(chan error, 1)
						go func() {
							_, err := s.CallTool(ctx, &mcpsdk.CallToolParams{Name: "echo"})
							ended <- err
						}()
						within(t, held, "the hold")
						giveUp()
						within(t, withdrawn, "the withdrawal")
						if err := within(t, ended, "the end of the call"); !errors.Is(err, context.Canceled) {
							t.Errorf("the call ended with %v", err)
						}
					}
				})
			})
		}
	}
}
