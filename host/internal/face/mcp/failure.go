// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// failure returns what a client is told of a call that came to no result: a
// result with isError, which the model reads, or a JSON-RPC error, which the
// client program gets.
func failure(err error, version string) (*callResult, *jsonrpc.Error) {
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
	if e.Needs != nil && modern(version) {
		return nil, missingCapability(e)
	}
	res := errorResult(textOfError(e), errorMeta(e))
	if e.Link != nil && version >= versionLinks {
		content, err := contentOf([]tool.Content{&tool.Text{Text: textOfError(e)}, e.Link})
		if err == nil { // it is the host's own, and can be written
			res.content = content
		}
	}
	return res, nil
}

// versionLinks is the first protocol version that knows resource links.
const versionLinks = "2025-06-18"

// missingCapability tells a client program what it would have to declare. The code
// is of MCP 2026-07-28 (basic, Error Codes); older versions have none for it.
func missingCapability(e *tool.Error) *jsonrpc.Error {
	data, _ := marshal(map[string]json.RawMessage{"requiredCapabilities": e.Needs}) // it was an object when it came
	return &jsonrpc.Error{Code: mcpsdk.CodeMissingRequiredClientCapabilities, Message: textOfError(e), Data: data}
}

func textOfError(e *tool.Error) string {
	if e.Text == "" {
		return string(e.Kind)
	}
	return e.Text
}

// errorMeta is what a program is told of an error.
func errorMeta(e *tool.Error) map[string]any {
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
	return meta
}

// pendingOf returns what a client is told of a call that waits for a decision,
// with the keys by which it resumes it, if it can.
func pendingOf(p *tool.Pending) *callResult {
	return errorResult(pendingText(p), pendingMeta(p))
}

func pendingText(p *tool.Pending) string { return "approval required: " + p.Approval }

func pendingMeta(p *tool.Pending) map[string]any {
	meta := map[string]any{metaErrorKind: string(tool.ApprovalPending), metaApproval: p.Approval}
	if p.URL != "" {
		meta[metaApprovalURL] = p.URL
	}
	if p.Run != "" {
		meta[metaRun] = p.Run
	}
	if p.Call != "" {
		meta[metaCall] = p.Call
	}
	return meta
}

func errorResult(text string, meta map[string]any) *callResult {
	return &callResult{tail: tail{meta: meta}, content: textBlock(text), isError: true}
}

// refusal is what a client is told of a read, a prompt or a completion that came
// to nothing: MCP has no result for that, only a JSON-RPC error. Its data says
// what _meta says of a tool's.
func refusal(op tool.Op, err error) *jsonrpc.Error {
	if unknown, ok := errors.AsType[*executor.UnknownError](err); ok {
		e := invalidParams("%s", unknown.Error())
		if op == tool.OpResource {
			e.Data, _ = marshal(map[string]string{"uri": unknown.Name}) // strings always marshal
		}
		return e
	}
	if errors.Is(err, executor.ErrInvalidState) {
		return invalidParams(invalidState)
	}
	if protocol, ok := errors.AsType[*tool.ProtocolError](err); ok {
		return protocolError(protocol)
	}
	e := tool.AsError(err)
	data, _ := marshal(errorMeta(e)) // strings, numbers and booleans always marshal
	return &jsonrpc.Error{Code: codeOf(e.Kind), Message: textOfError(e), Data: data}
}

// pendingRefusal is a read or a prompt that waits for a decision.
func pendingRefusal(p *tool.Pending) *jsonrpc.Error {
	data, _ := marshal(pendingMeta(p)) // strings always marshal
	return &jsonrpc.Error{Code: codeOf(tool.ApprovalPending), Message: pendingText(p), Data: data}
}

// codeOf is the JSON-RPC code of an error that is no result: that of an HTTP
// status, since codes of MCP's own range are not ours to allocate.
func codeOf(k tool.Kind) int64 {
	switch k {
	case tool.ArgsInvalid:
		return jsonrpc.CodeInvalidParams
	case tool.Denied, tool.ApprovalDenied, tool.ApprovalPending:
		return http.StatusForbidden
	case tool.RateLimited, tool.BudgetExceeded:
		return http.StatusTooManyRequests
	case tool.ResultTooLarge:
		return http.StatusRequestEntityTooLarge
	case tool.AdapterUnavailable:
		return http.StatusServiceUnavailable
	case tool.Timeout:
		return http.StatusGatewayTimeout
	case tool.ToolError:
		return http.StatusUnprocessableEntity
	case tool.Cancelled, tool.ToolFailed, tool.OutcomeUnknown, tool.OutputInvalid:
		return jsonrpc.CodeInternalError
	default:
		return jsonrpc.CodeInternalError
	}
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
