// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package rpc makes tools/call requests of MCP 2026-07-28 by hand: JSON-RPC over
// HTTP/1.1 on one keep-alive connection a client. No MCP SDK and no http.Client
// stand in the way, so that neither a fault nor a cost of theirs is measured, and
// the load generator takes little of the processors that it shares with what it
// measures.
package rpc
