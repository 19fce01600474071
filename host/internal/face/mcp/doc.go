// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package mcp is the host's MCP face: it turns MCP requests into calls for the
// executor and what comes of them into MCP results, over stateless Streamable
// HTTP and over stdio, for protocol 2026-07-28 and every older version that
// the Go SDK speaks.
//
// It decides nothing. Who calls is proven before a request arrives here (see
// WithPrincipal); whether a call may run is the executor's business. What a
// request goes through:
//
//	HTTP body or stdio line -> envelope (what the SDK's decoder would round, lose or refuse)
//	-> SDK (protocol, headers, versions) -> receive (one middleware) -> call or list
//
// Lists and calls are answered from the registry. The SDK server has maps of its
// own, which serve two purposes: list_changed notices go out when they change, and
// the SDK holds Mcp-Param headers against the tools in them, which are those that
// have such headers. They lag behind the registry by moments.
package mcp
