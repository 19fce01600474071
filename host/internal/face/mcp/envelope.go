// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// envelope is what a request says, as it was sent. The SDK reads _meta and, to
// compare headers, arguments into float64, takes the last of two equal keys and
// refuses a request for one answer that it does not know the shape of; here
// tokens, arguments and answers are as sent, and a doubled key is seen. All of it
// aliases the request.
//
// It is read without judging: of a malformed request it has whatever stood
// before the fault, and the SDK refuses the request.
type envelope struct {
	jsonrpc, method, id, params json.RawMessage

	// Of the params. meta is nil unless it is an object.
	name, uri, arguments, state, answers, meta json.RawMessage

	// Of _meta: io.modelcontextprotocol/..., progressToken, toolwharf/...
	version, info, capabilities, level, token, run, call json.RawMessage
	trace                                                struct{ parent, state, baggage json.RawMessage }

	// doubled is a key that the request, its params or its _meta has twice, twice
	// one that the request itself has.
	doubled, twice string
	// reply: it has a result or an error, as a response does.
	reply bool
	// whole: all of it was read. plain: and there were no members but those
	// above, in _meta any.
	whole, plain bool
	// at is where params begin in the message, if there is one, and where
	// what the SDK is not to read begins in the params.
	at struct{ params, arguments, state, answers int }
}

// readEnvelope reads a JSON-RPC message. A batch has an empty envelope.
func readEnvelope(message []byte) *envelope {
	e := &envelope{plain: true}
	e.whole = members(message, func(key []byte, from, to int) {
		switch value := message[from:to:to]; string(key) {
		case "jsonrpc":
			e.put(&e.jsonrpc, key, value)
		case "method":
			e.put(&e.method, key, value)
		case "id":
			e.put(&e.id, key, value)
		case "params":
			e.put(&e.params, key, value)
			e.at.params = from
		default:
			e.plain = false
			e.reply = e.reply || string(key) == "result" || string(key) == "error"
		}
	})
	e.twice = e.doubled
	e.readParams()
	return e
}

// envelopeOfParams reads the params of a message whose other members are known.
func envelopeOfParams(params json.RawMessage) *envelope {
	e := &envelope{params: params, whole: true, plain: true}
	e.readParams()
	return e
}

func (e *envelope) readParams() {
	if e.params == nil {
		e.plain = false
		return
	}
	read := members(e.params, func(key []byte, from, to int) {
		switch value := e.params[from:to:to]; string(key) {
		case "name":
			e.put(&e.name, key, value)
		case "uri": // no tool's
			e.put(&e.uri, key, value)
			e.plain = false
		case "arguments":
			e.put(&e.arguments, key, value)
			e.at.arguments = from
		case "requestState":
			e.put(&e.state, key, value)
			e.at.state = from
		case "inputResponses":
			e.put(&e.answers, key, value)
			e.at.answers = from
		case "_meta":
			e.put(&e.meta, key, value)
		default:
			e.plain = false
		}
	})
	e.whole = e.whole && read
	if e.meta == nil {
		return
	}
	read = members(e.meta, func(key []byte, from, to int) {
		switch value := e.meta[from:to:to]; string(key) {
		case mcpsdk.MetaKeyProtocolVersion:
			e.put(&e.version, key, value)
		case mcpsdk.MetaKeyClientInfo:
			e.put(&e.info, key, value)
		case mcpsdk.MetaKeyClientCapabilities:
			e.put(&e.capabilities, key, value)
		case mcpsdk.MetaKeyLogLevel:
			e.put(&e.level, key, value)
		case "progressToken":
			e.put(&e.token, key, value)
		case metaRun:
			e.put(&e.run, key, value)
		case metaCall:
			e.put(&e.call, key, value)
		case "traceparent":
			e.put(&e.trace.parent, key, value)
		case "tracestate":
			e.put(&e.trace.state, key, value)
		case "baggage":
			e.put(&e.trace.baggage, key, value)
		}
	})
	e.whole = e.whole && read
}

// forSDK returns the message, or the params, that the envelope was read from
// with something empty for what this face reads itself: what the SDK does not
// read it cannot round or refuse, and it does not cost fifty times its size.
// Arguments stay if they are to. It returns raw itself if there is nothing to
// gain or it is not clear where things are.
func (e *envelope) forSDK(raw []byte, arguments bool) []byte {
	if !e.whole || e.doubled != "" {
		return raw
	}
	cuts := [...]cut{{e.at.arguments, e.arguments, "{}"}, {e.at.state, e.state, `""`}, {e.at.answers, e.answers, "{}"}}
	if arguments || string(e.arguments) == "{}" {
		cuts[0].value = nil
	}
	if cuts[0].value == nil && e.state == nil && e.answers == nil {
		return raw
	}
	slices.SortFunc(cuts[:], func(a, b cut) int { return a.at - b.at })
	b, done := make([]byte, 0, len(raw)+4), 0
	for _, c := range cuts {
		if c.value == nil {
			continue
		}
		at := e.at.params + c.at
		b = append(append(b, raw[done:at]...), c.stub...)
		done = at + len(c.value)
	}
	return append(b, raw[done:]...)
}

// cut is a value of the params and what stands for it where it is not read.
type cut struct {
	at    int
	value json.RawMessage
	stub  string
}

func (e *envelope) put(field *json.RawMessage, key, value []byte) {
	if *field != nil {
		e.doubled = strings.ToValidUTF8(string(key), "\uFFFD")
	}
	*field = value
}

// rounds reports whether a call of this method may come in rounds (MCP
// 2026-07-28, basic/patterns/mrtr), so that what it brings back is read here.
func (e *envelope) rounds() bool {
	return e.asks(methodCallTool) || e.asks(methodRead) || e.asks(methodGetPrompt)
}

// asks reports whether the method is this one.
func (e *envelope) asks(method string) bool {
	s, ok := textOf(e.method)
	return ok && s == method
}

// progressToken returns the token with which progress is to be sent, nil for
// none. It is a string or a number (MCP 2026-07-28, basic/utilities/progress).
func (e *envelope) progressToken() json.RawMessage {
	if len(e.token) == 0 || !json.Valid(e.token) {
		return nil
	}
	switch c := e.token[0]; {
	case c == '"', c == '-', c >= '0' && c <= '9':
		return e.token
	default:
		return nil
	}
}

// streams reports whether the answer is to be a stream of events: the request
// wants to hear of progress or logs before its result. Everybody else gets one
// JSON body, which costs less and passes every proxy.
func (e *envelope) streams() bool {
	level, ok := textOf(e.level)
	return e.progressToken() != nil || ok && level != ""
}

// textOf returns the string that raw is.
func textOf(raw json.RawMessage) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// members calls f with each member of the object raw, its value being
// raw[from:to], in order, until the end or the first fault, and reports whether
// it came to the end. It looks no deeper: values are spans that may be malformed
// inside. It takes no memory but for keys with escapes.
func members(raw []byte, f func(key []byte, from, to int)) bool {
	at := space(raw, 0)
	if at == len(raw) || raw[at] != '{' {
		return false
	}
	if at = space(raw, at+1); at < len(raw) && raw[at] == '}' {
		return space(raw, at+1) == len(raw)
	}
	for at < len(raw) && raw[at] == '"' {
		end := span(raw, at)
		if end < 0 {
			return false
		}
		key := raw[at+1 : end-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			s, ok := textOf(raw[at:end])
			if !ok {
				return false
			}
			key = []byte(s)
		}
		if at = space(raw, end); at == len(raw) || raw[at] != ':' {
			return false
		}
		at = space(raw, at+1)
		if end = span(raw, at); end < 0 {
			return false
		}
		f(key, at, end)
		if at = space(raw, end); at == len(raw) {
			return false
		}
		switch raw[at] {
		case ',':
			at = space(raw, at+1)
		case '}':
			return space(raw, at+1) == len(raw)
		default:
			return false
		}
	}
	return false
}

// space returns the offset of the first byte from at on that is no white space.
func space(raw []byte, at int) int {
	for at < len(raw) && (raw[at] == ' ' || raw[at] == '\n' || raw[at] == '\t' || raw[at] == '\r') {
		at++
	}
	return at
}

// span returns the offset behind the value that begins at at, -1 if it does not
// end. It counts brackets without pairing them.
func span(raw []byte, at int) int {
	depth := 0
	for at < len(raw) {
		switch raw[at] {
		case '"':
			if at = quoted(raw, at); at < 0 {
				return -1
			}
		case '{', '[':
			depth++
			at++
		case '}', ']':
			if depth--; depth < 0 {
				return -1
			}
			at++
		case ',', ':', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return -1 // no value at all
			}
			at++
			continue
		default:
			at = scalar(raw, at)
		}
		if depth == 0 {
			return at
		}
	}
	return -1
}

// quoted returns the offset behind the string that begins at at, -1 if it does
// not end.
func quoted(raw []byte, at int) int {
	for at++; ; at++ {
		next := bytes.IndexByte(raw[at:], '"')
		if next < 0 {
			return -1
		}
		at += next
		escapes := 0
		for raw[at-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at + 1
		}
	}
}

// scalar returns the offset behind the number or word that begins at at.
func scalar(raw []byte, at int) int {
	for at < len(raw) {
		switch raw[at] {
		case ',', ':', '}', ']', '{', '[', '"', ' ', '\n', '\t', '\r':
			return at
		}
		at++
	}
	return at
}
