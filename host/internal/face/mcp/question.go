// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// resultInputRequired is the resultType of a result that asks the client for
// something, with which it calls again.
const resultInputRequired = "input_required"

// inputRequired is an MCP InputRequiredResult (2026-07-28, basic/patterns/mrtr).
// It is ours because the SDK's is a CallToolResult, which has an unexported
// resultType and a content that is null, and decodes the adapter's JSON.
type inputRequired struct {
	mcpsdk.ResultBase

	// requests is a JSON object, compact; state is sealed, empty if there is
	// none.
	requests json.RawMessage
	state    []byte
	server   json.RawMessage
}

// questionOf returns a question as clients see it, its requests sorted by key.
// An error means that the adapter's JSON is none.
func questionOf(q *tool.Question) (*inputRequired, *tool.Error) {
	if len(q.Requests) == 0 && len(q.State) == 0 {
		return nil, unaskable(errors.New("it asks for nothing and has no state"))
	}
	b := []byte{'{'}
	for _, key := range slices.Sorted(maps.Keys(q.Requests)) {
		r := q.Requests[key]
		params := json.RawMessage("{}") // clients in the field need some
		if len(r.Params) > 0 {
			var err error
			if params, err = compact(r.Params); err != nil {
				return nil, unaskable(fmt.Errorf("params of question %.64q: %w", key, err))
			}
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(appendString(b, key), `:{"method":`...)
		b = append(appendString(b, r.Method), `,"params":`...)
		b = append(append(b, params...), '}')
	}
	return &inputRequired{requests: append(b, '}'), state: q.State}, nil
}

// unaskable is a question that no client could read.
func unaskable(err error) *tool.Error {
	e := tool.Failed("question_unreadable", err)
	e.Sent, e.Ran = true, tool.RanUnknown
	return e
}

func (r *inputRequired) complete(_ string, server json.RawMessage) { r.server = server }

// GetMeta is for the SDK, which says who the server is where nobody has.
func (r *inputRequired) GetMeta() map[string]any { return serverMeta(r.server, &r.ResultBase) }

// MarshalJSON writes the result.
func (r *inputRequired) MarshalJSON() ([]byte, error) { return r.append(make([]byte, 0, r.size())) }

func (r *inputRequired) size() int { return len(r.requests) + len(r.state) + len(r.server) + 256 }

func (r *inputRequired) append(b []byte) ([]byte, error) {
	b = append(b, `{"resultType":"`+resultInputRequired+`","inputRequests":`...)
	b = append(b, r.requests...)
	b = appendMember(b, "requestState", string(r.state))
	if r.server != nil {
		b = append(b, `,"_meta":{"`+mcpsdk.MetaKeyServerInfo+`":`...)
		b = append(append(b, r.server...), '}')
	}
	return append(b, '}'), nil
}

var _ reply = (*inputRequired)(nil)
