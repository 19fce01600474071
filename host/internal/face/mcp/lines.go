// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine is the longest message on stdin, in bytes.
const maxLine = 16 << 20

// envelopeKey is where a line's envelope travels through the SDK: it hands on
// nothing of a request that it does not know, but for this.
const envelopeKey = "toolwharf.envelope"

// lines is a connection of JSON-RPC messages, one a line. It differs from the
// SDK's in what it survives: a line that is too long or no message is answered
// with an error, which is the request's if it has an id, and the next one read;
// and the end of the input is told to the SDK, which cancels whatever runs, only
// when what runs was answered, so that `echo ... | toolwharf serve --stdio` has
// an answer.
//
// Batches (MCP 2025-03-26 only) are refused.
type lines struct {
	incoming chan []byte   // lines, closed at the end of the input
	closed   chan struct{} // by Close
	once     sync.Once
	grace    time.Duration
	failure  error // of the input, once incoming is closed

	writing sync.Mutex
	out     io.Writer

	mu      sync.Mutex
	waiting map[jsonrpc.ID]struct{} // calls without an answer
	drained chan struct{}           // closed when the input has ended and nothing waits
	ended   bool
}

func newLines(in io.Reader, out io.Writer, grace time.Duration) *lines {
	l := &lines{
		incoming: make(chan []byte), closed: make(chan struct{}), grace: grace, out: out,
		waiting: map[jsonrpc.ID]struct{}{}, drained: make(chan struct{}),
	}
	go l.read(in)
	return l
}

// Connect is for the SDK.
func (l *lines) Connect(context.Context) (mcpsdk.Connection, error) { return l, nil }

// SessionID is none: there is one session.
func (l *lines) SessionID() string { return "" }

// Close ends Read.
func (l *lines) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// read reads lines until the input ends.
func (l *lines) read(in io.Reader) {
	defer close(l.incoming)
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := readLine(r)
		if errors.Is(err, errLineTooLong) {
			l.refuse(line, jsonrpc.CodeInvalidRequest, err.Error())
			continue
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			select {
			case l.incoming <- line:
			case <-l.closed:
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				l.failure = fmt.Errorf("reading: %w", err)
			}
			return
		}
	}
}

var errLineTooLong = fmt.Errorf("a line has more than %d bytes", maxLine)

// readLine returns the next line. One that is too long is skipped whole, and the
// id of its request returned in its place, if it is one.
func readLine(r *bufio.Reader) ([]byte, error) {
	var (
		line []byte
		long *longLine
	)
	for {
		part, err := r.ReadSlice('\n')
		if long == nil && len(line)+len(part) > maxLine {
			long = &longLine{}
			_, _ = long.Write(line) // never fails
			line = nil
		}
		if long == nil {
			line = append(line, part...)
		} else {
			_, _ = long.Write(part)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long != nil:
			return long.requestID(), errLineTooLong // an error comes again
		default:
			return line, err
		}
	}
}

// Read returns the next message.
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case line, ok := <-l.incoming:
			if !ok {
				l.drain(ctx)
				if l.failure != nil {
					return nil, l.failure
				}
				return nil, io.EOF
			}
			if msg := l.decode(line); msg != nil {
				return msg, nil
			}
		case <-l.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// decode returns the message of a line, nil if it is none and was answered.
func (l *lines) decode(line []byte) jsonrpc.Message {
	switch {
	case !json.Valid(line):
		l.refuse(nil, jsonrpc.CodeParseError, "the line is not JSON")
		return nil
	case line[0] == '[':
		l.refuse(nil, jsonrpc.CodeInvalidRequest, "batches are not supported: one message a line")
		return nil
	}
	e := readEnvelope(line)
	if wrong := e.fault(line); wrong != nil {
		l.refuse(e.answerable(), wrong.Code, wrong.Message)
		return nil
	}
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil { // in the SDK's own words, which are of its types
		l.refuse(e.answerable(), jsonrpc.CodeInvalidRequest, "the line is no message of JSON-RPC 2.0")
		return nil
	}
	if req, ok := msg.(*jsonrpc.Request); ok && req.IsCall() && req.Method != methodListen {
		switch req.Method {
		case methodCallTool, methodRead, methodGetPrompt:
			e := envelopeOfParams(req.Params)
			req.Params = e.forSDK(req.Params, req.Method != methodCallTool)
			req.Extra = &mcpsdk.RequestExtra{TokenInfo: &auth.TokenInfo{Extra: map[string]any{envelopeKey: e}}}
		}
		l.mu.Lock()
		l.waiting[req.ID] = struct{}{}
		l.mu.Unlock()
	}
	return msg
}

// drain waits, at the end of the input, until every call has its answer: a
// listen stream has none.
func (l *lines) drain(ctx context.Context) {
	l.mu.Lock()
	l.ended = true
	l.drainedLocked()
	l.mu.Unlock()
	late := time.NewTimer(l.grace)
	defer late.Stop()
	select {
	case <-l.drained:
	case <-late.C:
	case <-l.closed:
	case <-ctx.Done():
	}
}

func (l *lines) drainedLocked() {
	if l.ended && len(l.waiting) == 0 {
		select {
		case <-l.drained:
		default:
			close(l.drained)
		}
	}
}

// Write writes a message.
func (l *lines) Write(_ context.Context, msg jsonrpc.Message) error {
	res, answers := msg.(*jsonrpc.Response)
	if answers && res.Error != nil {
		res.Error = inOurWords(res.Error)
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encoding: %w", err)
	}
	err = l.write(data)
	if answers {
		l.mu.Lock()
		delete(l.waiting, res.ID)
		l.drainedLocked()
		l.mu.Unlock()
	}
	return err
}

func (l *lines) write(data []byte) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if _, err := l.out.Write(append(data, '\n')); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// refuse answers what is no message, or is not taken; id may be nil.
func (l *lines) refuse(id json.RawMessage, code int64, message string) {
	// A failed write is met again by the next answer.
	_ = l.write(errorMessage(id, &jsonrpc.Error{Code: code, Message: message}))
}
