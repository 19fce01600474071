// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// failure returns what a client is told of a call that came to no result: a
// result with isError, which the model reads, or a JSON-RPC error, which the
// client program gets.
func failure(err error) (*callResult, *jsonrpc.Error) {
	if unknown, ok := errors.AsType[*executor.UnknownError](err); ok {
		return nil, invalidParams("%s", unknown.Error())
	}
	if errors.Is(err, executor.ErrInvalidState) {
		return nil, invalidParams(invalidState)
	}
	if protocol, ok := errors.AsType[*tool.ProtocolError](err); ok {
		return nil, protocolError(protocol)
	}
	e := tool.AsError(err)
	text := e.Text
	if text == "" {
		text = string(e.Kind)
	}
	meta := map[string]any{metaErrorKind: string(e.Kind)}
	if e.Code != "" {
		meta[metaErrorCode] = e.Code
	}
	if e.Ran != tool.RanUnset {
		meta[metaRan] = string(e.Ran)
	}
	if e.RetryAfter > 0 {
		meta[metaRetryAfter] = max(e.RetryAfter.Milliseconds(), 1)
	}
	if e.Unrecorded {
		meta[metaRecorded] = false
	}
	return errorResult(text, meta), nil
}

// pendingOf returns what a client is told of a call that waits for a decision,
// with the keys by which it resumes it, if it can.
func pendingOf(p *tool.Pending) *callResult {
	meta := map[string]any{metaErrorKind: string(tool.ApprovalPending), metaApproval: p.Approval}
	if p.Run != "" {
		meta[metaRun] = p.Run
	}
	if p.Call != "" {
		meta[metaCall] = p.Call
	}
	return errorResult("approval required: "+p.Approval, meta)
}

func errorResult(text string, meta map[string]any) *callResult {
	return &callResult{content: textBlock(text), isError: true, meta: meta}
}

// Codes from lastReserved to firstReserved are JSON-RPC's and MCP's (MCP
// 2026-07-28, basic, Error Codes): an adapter cannot speak in their name, but
// for "invalid params".
const (
	firstReserved = -32000
	lastReserved  = -32768
)

func protocolError(p *tool.ProtocolError) *jsonrpc.Error {
	e := &jsonrpc.Error{Code: int64(p.Code), Message: p.Message}
	if e.Code >= lastReserved && e.Code <= firstReserved && e.Code != jsonrpc.CodeInvalidParams {
		e.Code = jsonrpc.CodeInternalError
	}
	if len(p.Data) > 0 && json.Valid(p.Data) {
		e.Data = p.Data
	}
	return e
}
