// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Bounds of what a call brings back from an earlier round.
const (
	maxAnswers = 64
	maxAnswer  = 64 << 10 // bytes of one, and of one key
	maxState   = 64 << 10 // bytes
)

// invalidState is what clients are told of a state that is none of this host's.
const invalidState = "invalid request state"

// round reads what a call brings back from an earlier round: the answers to its
// questions and the state that was given with them (MCP 2026-07-28,
// basic/patterns/mrtr). An answer may be of any shape, since a key that nobody
// asked by is to be ignored; but it is JSON that has one meaning only, like
// everything that comes in here. null stands for none.
func (r *request) round() *jsonrpc.Error {
	state, failed := stateOf(r.state)
	if failed != nil {
		return failed
	}
	r.call.State = state
	r.call.Answers, failed = answersOf(r.answers)
	return failed
}

func stateOf(raw json.RawMessage) ([]byte, *jsonrpc.Error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	state, ok := textOf(raw)
	switch {
	case !ok:
		return nil, invalidParams(invalidState)
	case len(state) > maxState:
		return nil, invalidParams("%s: it has more than %d bytes", invalidState, maxState)
	default:
		return []byte(state), nil
	}
}

func answersOf(raw json.RawMessage) (map[string]json.RawMessage, *jsonrpc.Error) {
	if raw == nil || string(raw) == "null" {
		return nil, nil
	}
	answers, large := map[string]json.RawMessage{}, false
	members(raw, func(key []byte, from, to int) {
		if len(answers) <= maxAnswers { // one too many says enough
			answers[string(key)] = raw[from:to:to]
		}
		large = large || len(key) > maxAnswer || to-from > maxAnswer
	})
	switch {
	case len(answers) > maxAnswers:
		return nil, invalidAnswers("more than %d of them", maxAnswers)
	case large:
		return nil, invalidAnswers("one has more than %d bytes", maxAnswer)
	}
	j, err := tool.ParseJSON(raw) // what it finds is an object with exactly these members
	switch {
	case err != nil:
		return nil, invalidAnswers("%v", err)
	case j.Canonical()[0] != '{':
		return nil, invalidAnswers("not an object")
	default:
		return answers, nil
	}
}

func invalidAnswers(format string, args ...any) *jsonrpc.Error {
	return invalidParams("invalid inputResponses: "+format, args...)
}

func invalidParams(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}
