// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// maxBatch is how many messages a batch may have (MCP 2025-03-26 only):
	// they run at once, and cost far more memory than their size.
	maxBatch = 50
	// firstRoom is how much is kept for a body of which nothing has come yet: its
	// length is the client's word only.
	firstRoom = 64 << 10
)

// Handler returns the stateless Streamable HTTP endpoint (MCP 2026-07-28,
// basic/transports). Every request stands alone: there are no sessions, GET and
// DELETE are 405. It answers in JSON; in server-sent events only to
// subscriptions/listen and to a request that wants to hear of progress or logs.
//
// A request that the client gives up is cancelled, in every protocol version.
// Who may reach the endpoint, and how long they may take to send and to read, is
// not its business; who calls is taken from the request's context (WithPrincipal).
func (f *Face) Handler() http.Handler { return http.HandlerFunc(f.serveHTTP) }

func (f *Face) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		refuse(w, http.StatusMethodNotAllowed, "method-not-allowed", "this endpoint is stateless: POST only")
		return
	}
	body, ok := f.body(w, r)
	if !ok {
		return
	}
	if n := batchLength(body); n > maxBatch {
		refuse(w, http.StatusBadRequest, "batch-too-long",
			"the batch has "+strconv.Itoa(n)+" messages, at most "+strconv.Itoa(maxBatch)+" are taken; send them one by one")
		return
	}
	e := readEnvelope(body)
	if wrong := faultOf(e, body, r.Header.Get("Mcp-Protocol-Version")); wrong != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(errorMessage(e.answerable(), wrong))
		return
	}
	o := &origin{principal: principalOf(r.Context()), gone: r.Context(), envelope: e, trace: traceOfHeader(r.Header)}
	if e.asks(methodCallTool) {
		name, _ := textOf(e.name)
		o.called = f.listed.now().find(name, o.principal)
	}
	if f.stepsUp(w, r, o) {
		return
	}
	r = r.WithContext(withOrigin(r.Context(), o)) // a copy
	r.Header = decodedName(r.Header)
	if f.direct(w, r, o) {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(forSDK(o, body)))
	w = &inJSON{ResponseWriter: w, id: e.id}
	switch {
	case e.asks(methodListen):
		f.serveListen(w, r, o)
	case e.streams():
		w.Header().Set("X-Accel-Buffering", "no")
		f.events.ServeHTTP(w, r)
	default:
		f.single.ServeHTTP(w, r)
	}
}

// forSDK returns the request as the SDK is to see it: without what is read here,
// arguments only where it has to hold them against Mcp-Param headers.
func forSDK(o *origin, body []byte) []byte {
	e := o.envelope
	if !e.rounds() {
		return body
	}
	return e.forSDK(body, !e.asks(methodCallTool) || o.called != nil && o.called.headers)
}

// body reads the request, bounded in size. On failure it has answered.
func (f *Face) body(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	limit := f.config.MaxBody
	if r.ContentLength > limit {
		f.tooLarge(w)
		return nil, false
	}
	var b bytes.Buffer
	b.Grow(int(min(max(r.ContentLength, 0), firstRoom)) + bytes.MinRead)
	_, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, limit))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		f.tooLarge(w)
		return nil, false
	case errors.Is(err, os.ErrDeadlineExceeded):
		refuse(w, http.StatusRequestTimeout, "body-too-slow", "the body of the request took too long; send it faster")
		return nil, false
	case err != nil:
		refuse(w, http.StatusBadRequest, "body-unreadable", "the request ended before its body")
		return nil, false
	}
	return b.Bytes(), true
}

func (f *Face) tooLarge(w http.ResponseWriter) {
	w.Header().Set("Connection", "close") // what is left of the body is not read
	refuse(w, http.StatusRequestEntityTooLarge, "body-too-large",
		"the request has more than "+strconv.FormatInt(f.config.MaxBody, 10)+" bytes; send less, or raise http.max_body")
}

// serveListen answers subscriptions/listen, if there is room for it.
func (f *Face) serveListen(w http.ResponseWriter, r *http.Request, o *origin) {
	if !f.listens.enter(o.principal) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write(errorMessage(o.envelope.id, errTooManyListens)) // the client is told or gone
		return
	}
	defer f.listens.leave(o.principal)
	if end, ok := r.Context().Value(endKey{}).(End); ok {
		known, cancel := context.WithCancel(o.gone)
		defer cancel()
		o.gone = known
		go func() {
			defer cancel()
			end.await(known)
		}()
	}
	w.Header().Set("X-Accel-Buffering", "no")
	h := startHeartbeat(w, f.beat)
	defer h.stop()
	f.events.ServeHTTP(h, r)
}

// batchLength counts the messages of a batch, as far as it can be read; of one
// message there are 0.
func batchLength(body []byte) (n int) {
	at := space(body, 0)
	if at == len(body) || body[at] != '[' {
		return 0
	}
	for at = space(body, at+1); at < len(body); at = space(body, at+1) {
		if at = span(body, at); at < 0 {
			break
		}
		n++
		if at = space(body, at); at == len(body) || body[at] != ',' {
			break
		}
	}
	return n
}

// refuse answers a request that is no JSON-RPC message to anybody.
func refuse(w http.ResponseWriter, status int, code, message string) {
	body, _ := marshal(map[string]string{"error": code, "message": message}) // strings always marshal
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client is told or gone
}

// errorMessage is a JSON-RPC response with an error. An id that is none is null
// (JSON-RPC 2.0, section 5).
func errorMessage(id json.RawMessage, e *jsonrpc.Error) []byte {
	if !json.Valid(id) {
		id = json.RawMessage("null")
	}
	b, _ := marshal(struct { // an error's Data is valid JSON
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, e})
	return b
}

// headerName carries the name of the tool that is called.
const headerName = "Mcp-Name"

// decodedName returns the headers with an encoded Mcp-Name decoded (MCP
// 2026-07-28, basic/transports, Value Encoding): SDK v1.8.0 compares it with
// the body as it is. A value that cannot be decoded stays, and is
// refused as one that does not match.
func decodedName(h http.Header) http.Header {
	encoded, ok := strings.CutPrefix(h.Get(headerName), "=?base64?")
	if !ok {
		return h
	}
	if encoded, ok = strings.CutSuffix(encoded, "?="); !ok {
		return h
	}
	name, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return h
	}
	h = h.Clone()
	h.Set(headerName, string(name))
	return h
}
