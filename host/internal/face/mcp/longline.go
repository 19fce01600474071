// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
)

// maxID bounds the id of a request that is too long to be kept, in bytes.
const maxID = 1 << 10

// longLine finds the id of a request while its bytes go by: it is too long to be
// kept, and its client waits for an answer all the same. Many clients write the
// id last.
type longLine struct {
	depth             int
	quoted, escaped   bool
	key, token        []byte // of the member of the request that is being read
	id                json.RawMessage
	request, no, huge bool // it has a method; it is no object; the token is longer than it may be
}

// Write takes the next bytes.
func (l *longLine) Write(b []byte) (int, error) {
	for _, c := range b {
		l.take(c)
	}
	return len(b), nil
}

func (l *longLine) take(c byte) {
	switch {
	case l.quoted:
		l.keep(c)
		switch {
		case l.escaped:
			l.escaped = false
		case c == '\\':
			l.escaped = true
		case c == '"':
			l.quoted = false
		}
	case c == '"':
		l.keep(c)
		l.quoted = true
	case c == '{' || c == '[':
		l.no = l.no || l.depth == 0 && c == '['
		l.keep(c)
		l.depth++
	case c == '}' || c == ']':
		if l.depth == 1 {
			l.member()
		}
		l.depth--
	case c == ':' && l.depth == 1:
		l.key = append(l.key[:0], l.token...)
		l.token, l.huge = l.token[:0], false
	case c == ',' && l.depth == 1:
		l.member()
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
	default:
		l.keep(c)
	}
}

// keep keeps what belongs to a key or a plain value of the request itself.
func (l *longLine) keep(c byte) {
	if l.depth != 1 {
		return
	}
	if l.huge = l.huge || len(l.token) == maxID; !l.huge {
		l.token = append(l.token, c)
	}
}

// member ends a member of the request.
func (l *longLine) member() {
	switch string(l.key) {
	case `"method"`:
		l.request = true
	case `"id"`:
		l.id = nil
		if !l.huge {
			l.id = append(l.id, l.token...)
		}
	}
	l.key, l.token, l.huge = l.key[:0], l.token[:0], false
}

// requestID is the id of the request, nil if it was none: the id of an answer
// is another's.
func (l *longLine) requestID() json.RawMessage {
	if l.no || !l.request || !json.Valid(l.id) || l.id[0] != '"' && l.id[0] != '-' && (l.id[0] < '0' || l.id[0] > '9') {
		return nil
	}
	return l.id
}
