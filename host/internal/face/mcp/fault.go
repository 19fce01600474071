// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// The SDK takes what stands behind the first value of a body for nothing, rounds
// ids, takes an object without a method for a response, and says in plain text and
// in the words of its own types what it refuses. So the envelope is judged before
// it is asked.

// largestID is the largest number that the SDK gives back as it came.
const largestID = 1 << 53

// fault is what keeps a message from being one of JSON-RPC 2.0; nil: nothing that is
// seen here. What is within params is judged by those that read it.
func (e *envelope) fault(message []byte) *jsonrpc.Error {
	if !e.whole && !json.Valid(message) {
		return notJSON()
	}
	if at := space(message, 0); at == len(message) || message[at] != '{' {
		return invalidRequest("a message is an object")
	}
	switch {
	case string(e.jsonrpc) != `"2.0"`:
		return invalidRequest(`it is not "jsonrpc": "2.0"`)
	case e.twice != "":
		return invalidRequest("it has " + strconv.Quote(e.twice) + " twice")
	case e.id != nil && !json.Valid(e.id):
		return notJSON()
	case e.id != nil && !goodID(e.id):
		return invalidRequest("an id is a string, or a whole number of at most 2^53")
	case e.method == nil && e.reply:
		return nil
	case e.reply:
		return invalidRequest("it is a request and a response")
	}
	if method, ok := textOf(e.method); !ok || method == "" {
		return invalidRequest("a method is a string")
	}
	return nil
}

func notJSON() *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the message is not JSON, or there is something behind it"}
}

func invalidRequest(why string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "no message of JSON-RPC 2.0: " + why}
}

// goodID reports whether an id comes back as it was sent.
func goodID(id json.RawMessage) bool {
	if id[0] == '"' {
		_, err := tool.ParseJSON(id)
		return err == nil
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && -largestID <= n && n <= largestID && strconv.FormatInt(n, 10) == string(id)
}

// answerable is the id that a refusal is for, nil if there is none that can be.
func (e *envelope) answerable() json.RawMessage {
	if e.id == nil || e.twice == "id" || !goodID(e.id) {
		return nil
	}
	return e.id
}

// faultOf judges the body of a request over HTTP, which may be a batch if its version
// has them.
func faultOf(e *envelope, body []byte, version string) *jsonrpc.Error {
	at := space(body, 0)
	if at == len(body) || body[at] != '[' {
		return e.fault(body)
	}
	switch {
	case !json.Valid(body):
		return e.fault(body)
	case version >= firstWithoutBatches:
		return invalidRequest("batches are not supported: one message a request")
	case batchLength(body) == 0:
		return invalidRequest("the batch is empty")
	}
	return nil
}

// firstWithoutBatches is the first version that has none. A request that names no
// version is of the one before (MCP 2025-06-18, basic/transports).
const firstWithoutBatches = "2025-06-18"

// inJSON is a writer that says in JSON-RPC what the SDK says in plain text.
type inJSON struct {
	http.ResponseWriter
	id     json.RawMessage
	status int // of what is to be said otherwise, 0: nothing
}

// WriteHeader passes everything on but what is refused in plain text.
func (w *inJSON) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write is called once for a refusal, by http.Error, and once for an answer of one
// message.
func (w *inJSON) Write(b []byte) (int, error) {
	if w.status == 0 {
		_, err := w.ResponseWriter.Write(w.inOurWords(b)) //nolint:gosec // it is JSON, and says so
		return len(b), err
	}
	w.Header().Del("X-Content-Type-Options")
	w.Header().Set("Content-Type", "application/json")
	w.ResponseWriter.WriteHeader(w.status)
	message, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	if bytes.HasPrefix(message, []byte("malformed payload")) { // and what of it, in the SDK's own words
		message = []byte("the message is no message of JSON-RPC 2.0")
	}
	_, err := w.ResponseWriter.Write(errorMessage(w.id, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: string(message)})) //nolint:gosec // as above
	return len(b), err
}

// inOurWords is an answer, with another error if it is one that has the SDK's types in
// its text.
func (w *inJSON) inOurWords(b []byte) []byte {
	rest, is := bytes.CutPrefix(b, []byte(`{"jsonrpc":"2.0","id":`+string(w.id)+`,"error":`))
	if !is {
		return b
	}
	var e jsonrpc.Error
	if json.Unmarshal(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("}")), &e) != nil {
		return b
	}
	if said := inOurWords(&e); said != &e {
		return errorMessage(w.id, said)
	}
	return b
}

// inOurWords is an error of the SDK. Where it could not make anything of params it says
// so in the words of its types; and where it has no code it sends 0, which is none.
func inOurWords(err error) *jsonrpc.Error {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	switch {
	case strings.HasPrefix(err.Error(), "handling '") && strings.Contains(err.Error(), "unmarshaling "):
		return errShape
	case !ok:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
	case e.Code == 0:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: e.Message, Data: e.Data}
	default:
		return e
	}
}

var errShape = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "the params have not the shape that MCP has for this method"}

// Flush is for server-sent events.
func (w *inJSON) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() } // who cannot, does not

// Unwrap is for http.ResponseController.
func (w *inJSON) Unwrap() http.ResponseWriter { return w.ResponseWriter }
