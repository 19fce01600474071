// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package httpface

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// Codes of refusals before any handler.
const (
	headerTooLarge     = "header-too-large"
	headerTooSlow      = "header-too-slow"
	badRequest         = "bad-request"
	notSupported       = "not-supported"
	tooManyConnections = "too-many-connections"
)

// wire is a whole answer that refuses a request and ends the connection.
func wire(status int, code, message string) []byte {
	body, _ := json.Marshal(refusal{code, message}) //nolint:errchkjson // strings always marshal
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"+
		"X-Content-Type-Options: nosniff\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		status, http.StatusText(status), len(body), body)
}

// What net/http writes in one piece when it refuses a request itself: its status,
// these headers and no others, a text. An answer of a handler has a date.
var (
	begin = []byte("HTTP/1.1 ")
	bare  = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
)

// inJSON is a refusal of net/http's own as this package words it, and its code;
// no code: it is none.
func inJSON(b []byte) (said []byte, code string) {
	rest, ok := bytes.CutPrefix(b, begin)
	if !ok || len(rest) < 3 || rest[0] != '4' && rest[0] != '5' {
		return nil, ""
	}
	if line := bytes.IndexByte(rest, '\r'); line < 0 || !bytes.HasPrefix(rest[line:], bare) {
		return nil, ""
	}
	status, err := strconv.Atoi(string(rest[:3]))
	if err != nil {
		return nil, ""
	}
	switch status {
	case http.StatusRequestHeaderFieldsTooLarge:
		return wire(status, headerTooLarge, "the header of the request is too large (http.max_header); send less"), headerTooLarge
	case http.StatusNotImplemented:
		return wire(status, notSupported, "the transfer encoding of the request is not known here; send it as it is, or in chunks"), notSupported
	default:
		return wire(status, badRequest, "the request is not HTTP as RFC 9112 has it"), badRequest
	}
}
