// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// versionModern is the first protocol version whose requests stand alone.
const versionModern = "2026-07-28"

func modern(version string) bool { return version >= versionModern }

// Methods that this face answers itself or looks at.
const (
	methodInitialize                   = "initialize"
	methodSetLevel                     = "logging/setLevel"
	methodListTools                    = "tools/list"
	methodCallTool                     = "tools/call"
	methodListen                       = "subscriptions/listen"
	methodRead                         = "resources/read"
	methodSubscribe, methodUnsubscribe = "resources/subscribe", "resources/unsubscribe"
	methodGetPrompt                    = "prompts/get"
)

// receive is the one middleware: lists and calls are answered here, and what
// concerns the transports is looked after. The rest is the SDK's.
func (f *Face) receive(next mcpsdk.MethodHandler) mcpsdk.MethodHandler {
	return func(ctx context.Context, method string, req mcpsdk.Request) (res mcpsdk.Result, err error) {
		defer func() {
			if p := recover(); p != nil { // handlers have a goroutine each: a panic would end the host
				f.log.Error("panic while answering an MCP request", "method", method, "panic", p, "stack", string(debug.Stack()))
				res, err = nil, internalError()
			}
		}()
		o := originOf(ctx)
		if l, ok := listAsked(req); ok {
			return either(f.list(o, l))
		}
		switch r := req.(type) {
		case *mcpsdk.CallToolRequest:
			return f.answered(ctx, o, func(ctx context.Context) (reply, *jsonrpc.Error) { return f.callTool(ctx, o, r) })
		case *mcpsdk.ReadResourceRequest:
			return f.answered(ctx, o, func(ctx context.Context) (reply, *jsonrpc.Error) { return f.readResource(ctx, o, r) })
		case *mcpsdk.GetPromptRequest:
			return f.answered(ctx, o, func(ctx context.Context) (reply, *jsonrpc.Error) { return f.getPrompt(ctx, o, r) })
		case *mcpsdk.CompleteRequest:
			return f.answered(ctx, o, func(ctx context.Context) (reply, *jsonrpc.Error) { return f.complete(ctx, o, r) })
		case *mcpsdk.SubscriptionsListenRequest:
			return f.listen(ctx, o, r, next)
		case *mcpsdk.SubscribeRequest:
			return f.subscribe(ctx, o, r, next)
		case *mcpsdk.UnsubscribeRequest:
			return f.unsubscribe(ctx, o, r, next)
		}
		res, err = next(ctx, method, req)
		if err != nil {
			return nil, err
		}
		f.instruct(res)
		switch r := req.GetParams().(type) {
		case *mcpsdk.InitializeParams:
			honest(o, res)
		case *mcpsdk.SetLoggingLevelParams:
			o.level.Store(string(r.Level))
		}
		return res, nil
	}
}

// answered answers a call, which ends when nobody waits for it any more.
func (f *Face) answered(ctx context.Context, o *origin, answer func(context.Context) (reply, *jsonrpc.Error)) (mcpsdk.Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(o.gone, func() { cancel(context.Cause(o.gone)) })
	defer stop()
	return either(answer(ctx))
}

// instruct says what the host is for, to a client that has just come.
func (f *Face) instruct(res mcpsdk.Result) {
	switch r := res.(type) {
	case *mcpsdk.InitializeResult:
		r.Instructions = *f.instructions.Load()
	case *mcpsdk.DiscoverResult:
		r.Instructions = *f.instructions.Load()
	}
}

// honest takes back what the SDK promises to an older client over stateless
// HTTP: nothing can tell it that the list has changed.
func honest(o *origin, res mcpsdk.Result) {
	r, ok := res.(*mcpsdk.InitializeResult)
	if !ok || o.stdio || r.Capabilities == nil {
		return
	}
	if r.Capabilities.Tools != nil {
		r.Capabilities.Tools = &mcpsdk.ToolCapabilities{}
	}
	if r.Capabilities.Resources != nil {
		r.Capabilities.Resources = &mcpsdk.ResourceCapabilities{}
	}
	if r.Capabilities.Prompts != nil {
		r.Capabilities.Prompts = &mcpsdk.PromptCapabilities{}
	}
}

// either returns a result or an error, neither of them a nil in an interface.
func either[R mcpsdk.Result](res R, err *jsonrpc.Error) (mcpsdk.Result, error) {
	if err != nil {
		return nil, err
	}
	return res, nil
}

func internalError() *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "internal error"}
}
