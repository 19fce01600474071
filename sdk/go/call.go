// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"log/slog"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// calls is what the services of calls share.
type calls struct {
	core     *core
	log      *slog.Logger
	sessions *sessions
	watched  *watched
}

// begin is the session of a new call; end it.
func (c *calls) begin(rpc string) (*session, error) {
	used, ok := c.sessions.acquire()
	if !ok {
		return nil, status.Error(codes.FailedPrecondition, rpc+" before Configure has succeeded")
	}
	return used, nil
}

func (c *calls) end(used *session) { c.sessions.release(used, c.log) }

// running is a call of the session; it says nothing yet.
func (c *calls) running(used *session, about *pluginv1.CallContext) *running {
	return &running{call: callOf(about), adapter: &used.adapter, live: used.live, log: c.log}
}

// request is what every call that may ask something carries.
type request interface {
	GetContext() *pluginv1.CallContext
	GetAnswers() map[string][]byte
	GetState() []byte
}

// words are the messages of one rpc's stream.
type words[M any] struct {
	progress func(*pluginv1.Progress) *M
	log      func(*pluginv1.LogMessage) *M
	ending   func(ending) *M
}

// ending is the end of a call that came to no result: one of them is set.
type ending struct {
	question *pluginv1.InputRequired
	protocol *pluginv1.ProtocolError
	err      *pluginv1.CallError
}

// converse runs one call over its stream: work returns what sends the result.
func converse[M any](c *calls, rpc string, req request, stream grpc.ServerStreamingServer[M], w words[M],
	work func(ctx context.Context, used *session) (deliver func(send func(*M) error) error, err error),
) error {
	used, err := c.begin(rpc)
	if err != nil {
		return err
	}
	defer c.end(used)
	out := &outlet[M]{stream: stream}
	defer out.close()

	run := c.running(used, req.GetContext())
	run.answers, run.state = req.GetAnswers(), req.GetState()
	// A stream that is broken has cancelled its context as well.
	run.progress = func(p *pluginv1.Progress) { _ = out.send(w.progress(p)) }
	run.notify = func(l *pluginv1.LogMessage) { _ = out.send(w.log(l)) }
	ctx := context.WithValue(stream.Context(), callKey{}, run)
	deliver, err := work(ctx, used)
	if err != nil {
		return out.send(w.ending(endingOf(ctx, err)))
	}
	return deliver(out.send)
}

func endingOf(ctx context.Context, err error) ending {
	question, err := asked(err)
	if err == nil {
		return ending{question: question}
	}
	if p := protocolError(err); p != nil {
		return ending{protocol: p}
	}
	return ending{err: callError(ctx, err)}
}

// safely runs a handler; a panic of it is an error.
func safely[T any](ctx context.Context, what, name string, f func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			var none T
			result, err = none, panicked(Log(ctx).With(what, name), "a "+what, p)
		}
	}()
	return f()
}

func callOf(c *pluginv1.CallContext) Call {
	return Call{
		ID:                 c.GetCallId(),
		Attempt:            int(c.GetAttempt()),
		RunID:              c.GetRunId(),
		ProtocolVersion:    c.GetProtocolVersion(),
		ClientCapabilities: c.GetClientCapabilities(),
		LogLevel:           levelOf(c.GetLogLevel()),
		WantsProgress:      c.GetWantsProgress(),
		Principal:          c.GetPrincipal(),
	}
}

// outlet is the stream of one call: handlers may send progress from several
// goroutines, and some of them too late.
type outlet[M any] struct {
	mu     sync.Mutex
	stream grpc.ServerStreamingServer[M]
	closed bool
}

func (o *outlet[M]) send(m *M) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	return o.stream.Send(m)
}

func (o *outlet[M]) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
}
