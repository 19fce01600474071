// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"encoding/json"
	"net/http"
	"runtime/debug"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// The SDK reads a request five times over, with a 32 KiB buffer each time: half
// a megabyte for a call of a hundred bytes, which is more than all the rest of
// it costs. A plain call over HTTP therefore does not go through the SDK if its
// client is an acquaintance: if the SDK has taken a call that was equal in all
// that it judges by, namely media types, version, capabilities and client info.
// What differs from call to call is judged here: that it is one whole tools/call
// with no key but the usual ones, that its headers say what its body says, and
// that the tool has no argument in a header. Every other request, and every
// first one, takes the long way. Both ways end in Face.call and give the same
// answer byte for byte.

// Bounds of what is remembered of clients.
const (
	maxAcquaintances = 256
	maxAcquaintance  = 4 << 10 // bytes of one
)

// acquaintances are the clients that the SDK has taken a call from, by all that
// it judged.
type acquaintances struct {
	mu    sync.RWMutex
	known map[string]tool.Client
}

func (a *acquaintances) find(mark []byte) (tool.Client, bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	c, ok := a.known[string(mark)]
	return c, ok
}

// meet remembers a client. When there are too many all are forgotten, which
// costs each of them one call the long way.
func (a *acquaintances) meet(mark string, c tool.Client) {
	c.Capabilities = bytes.Clone(c.Capabilities) // it aliases the request
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= maxAcquaintances {
		a.known = map[string]tool.Client{}
	}
	a.known[mark] = c
}

// direct answers a plain call of an acquaintance and reports whether it has. Of
// a plain call of somebody else it notes in o by what to know it again.
func (f *Face) direct(w http.ResponseWriter, r *http.Request, o *origin) bool {
	e := o.envelope
	version := r.Header.Get("Mcp-Protocol-Version")
	name, ok := textOf(e.name)
	if !f.config.HostChecked || !ok || version == "" || !e.simple() || !headersAgree(r.Header, e, version, name) {
		return false
	}
	if o.called == nil || o.called.headers {
		return false
	}
	var room [512]byte
	mark := room[:0]
	for _, accept := range r.Header.Values("Accept") {
		mark = append(append(mark, accept...), 0)
	}
	mark = append(append(mark, 0), r.Header.Get("Content-Type")...)
	mark = append(append(mark, 0), version...)
	mark = append(append(mark, 0), e.capabilities...)
	mark = append(append(mark, 0), e.info...)
	client, ok := f.clients.find(mark)
	if !ok {
		if len(mark) <= maxAcquaintance {
			o.mark = string(mark)
		}
		return false
	}
	c := &request{
		call: tool.Call{Op: tool.OpTool, Name: name, Principal: o.principal, Client: client, Trace: o.traceOf(e)},
		args: e.arguments, state: e.state, answers: e.answers,
	}
	run, _ := textOf(e.run)
	key, _ := textOf(e.call)
	f.keys(o, &c.call, run, key, r.Header)
	res, err := f.guarded(r, c)
	answerDirectly(w, e.id, version, res, err)
	return true
}

// simple reports whether the request is one tools/call that wants one answer
// and has nothing unusual about it.
func (e *envelope) simple() bool {
	return e.whole && e.plain && e.doubled == "" && e.asks(methodCallTool) && string(e.jsonrpc) == `"2.0"` &&
		e.token == nil && e.level == nil && simpleID(e.id) &&
		(e.meta == nil || json.Valid(e.meta))
}

// simpleID reports whether an id is spelled in the one way that the SDK would
// spell it: an integer, or printable ASCII without escapes.
func simpleID(id []byte) bool {
	if len(id) >= 2 && id[0] == '"' {
		for _, c := range id[1 : len(id)-1] {
			if c < ' ' || c > '~' || c == '\\' {
				return false
			}
		}
		return true
	}
	digits := bytes.TrimPrefix(id, []byte("-"))
	if len(digits) == 0 || digits[0] == '0' && len(id) > 1 {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// headersAgree reports whether the headers say what the body says (MCP
// 2026-07-28, basic/transports, Standard Headers). Older requests have no such
// headers, and say nothing of a version in _meta.
func headersAgree(h http.Header, e *envelope, version, name string) bool {
	if h.Get("Last-Event-ID") != "" {
		return false
	}
	if !modern(version) {
		return e.version == nil
	}
	says, ok := textOf(e.version)
	return ok && says == version && h.Get("Mcp-Method") == methodCallTool && h.Get(headerName) == name
}

// guarded is call, and survives a panic as receive does.
func (f *Face) guarded(r *http.Request, c *request) (res reply, err *jsonrpc.Error) {
	defer func() {
		if p := recover(); p != nil {
			f.log.Error("panic while answering an MCP request", "method", methodCallTool, "panic", p, "stack", string(debug.Stack()))
			res, err = nil, internalError()
		}
	}()
	return f.call(r.Context(), c)
}

// answerDirectly writes what the SDK would write.
func answerDirectly(w http.ResponseWriter, id json.RawMessage, version string, res reply, failed *jsonrpc.Error) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("Content-Type", "application/json")
	if failed != nil {
		if modern(version) && (failed.Code == jsonrpc.CodeInvalidParams || failed.Code == mcpsdk.CodeMissingRequiredClientCapabilities) {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = w.Write(errorMessage(id, failed)) //nolint:gosec // it is JSON, and says so; the client is told or gone
		return
	}
	b := make([]byte, 0, res.size()+len(id)+64)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	b = append(b, `,"result":`...)
	b, err := res.append(b)
	if err != nil { // its _meta was JSON when it came
		_, _ = w.Write(errorMessage(id, internalError()))
		return
	}
	_, _ = w.Write(append(b, '}')) //nolint:gosec // as above
}
