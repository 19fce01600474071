// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// slowCall is a call that takes long, as the plugin's author has said.
func (s *suite) slowCall(ctx context.Context) (*tool, json.RawMessage, error) {
	if _, err := s.offering(ctx); err != nil {
		return nil, nil, err
	}
	names := slices.Sorted(maps.Keys(s.o.Examples.Slow))
	if len(names) == 0 {
		return nil, nil, unjudgedf("no slow call is known: name one under slow: in the --examples file")
	}
	name := names[0] // one is enough
	i := slices.IndexFunc(s.tools, func(t *tool) bool { return t.GetName() == name })
	switch {
	case i < 0:
		return nil, nil, unjudgedf("the examples name a slow tool %q, which there is not", name)
	case !s.tools[i].free:
		return nil, nil, unjudgedf("the slow tool %q is not read_only, so it is not called without --call-all", name)
	}
	if err := s.tools[i].input.ValidateValue(s.o.Examples.Slow[name]); err != nil {
		return nil, nil, unjudgedf("the slow call of %q is not valid by the tool's schema: %v", name, err)
	}
	return s.tools[i], s.o.Examples.Slow[name], nil
}

// shortDeadline is that of a call that takes much longer.
const shortDeadline = 300 * time.Millisecond

// deadline sends a call with a deadline and waits longer than that. A gRPC client
// ends such a call by itself, so the request is written by hand. Many servers end
// it by themselves too; whether the work has ended then cannot be seen.
func (s *suite) deadline(ctx context.Context) error {
	t, args, err := s.slowCall(ctx)
	if err != nil {
		return err
	}
	m, err := s.ready(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, shortDeadline+s.bounds.heed)
	defer cancel()
	begin := time.Now()
	err = m.post(ctx, request(t.GetName(), args), shortDeadline)
	took := time.Since(begin)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %s after a deadline of %s the call still runs", t.GetName(), s.bounds.heed, shortDeadline)
	case m.ended():
		return m.fault(errors.New("the plugin ended"))
	case took < shortDeadline/2:
		return unjudgedf("the slow call of %q ended after %s, before its deadline (%v)", t.GetName(), took.Round(time.Millisecond), err)
	}
	return nil // whether by an error message, a status or a reset stream
}

// post makes a call over a connection of its own, and returns when the plugin
// has ended the stream.
func (m *mooring) post(ctx context.Context, req *pluginv1.CallToolRequest, timeout time.Duration) error {
	config := m.tls.Clone()
	config.NextProtos = []string{"h2"}
	transport := &http.Transport{
		ForceAttemptHTTP2: true,
		DialTLSContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			raw, err := m.dial(ctx)
			if err != nil {
				return nil, err
			}
			conn := tls.Client(raw, config)
			if err := conn.HandshakeContext(ctx); err != nil {
				_ = raw.Close()
				return nil, err
			}
			return conn, nil
		},
	}
	defer transport.CloseIdleConnections()
	body, err := proto.Marshal(req)
	if err != nil {
		return err
	}
	frame := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))) //nolint:gosec // a small request
	httpReq, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://localhost"+pluginv1.ToolService_CallTool_FullMethodName,
		bytes.NewReader(append(frame, body...)))
	if err != nil {
		return err
	}
	httpReq.Header.Set("Content-Type", "application/grpc")
	httpReq.Header.Set("TE", "trailers")
	httpReq.Header.Set("Grpc-Timeout", fmt.Sprintf("%dm", timeout.Milliseconds()))
	resp, err := transport.RoundTrip(httpReq)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// cancelled starts slow calls in a plugin of its own and cancels them. Whether
// their work ends cannot be seen from outside; what hangs because of them can.
func (s *suite) cancelled(ctx context.Context) error {
	t, args, err := s.slowCall(ctx)
	if err != nil {
		return err
	}
	m, err := s.configured(ctx, limits())
	if err != nil {
		return err
	}
	defer m.end()
	doomed, cancel := context.WithCancel(ctx)
	defer cancel()
	for range parallel {
		if _, err := m.tool.CallTool(doomed, request(t.GetName(), args)); err != nil {
			return m.fault(err)
		}
	}
	if err := m.reached(ctx, s); err != nil { // behind them on the same connection
		return fmt.Errorf("during %d slow calls: %w", parallel, err)
	}
	cancel()
	for _, other := range s.tools { // what they held, others need
		if !other.free || other.args == nil {
			continue
		}
		if _, err := s.call(ctx, m, request(other.GetName(), other.args)); err != nil {
			return toolFault(other, fmt.Sprintf("good arguments, after %d calls of %s were cancelled", parallel, t.GetName()), err)
		}
	}
	if err := m.leave(ctx, s.bounds.shutdown); err != nil {
		return fmt.Errorf("after %d calls were cancelled, Shutdown: %w", parallel, err)
	}
	return nil
}
