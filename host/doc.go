// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package host embeds a Toolwharf host in a Go program: its adapters run as processes
// of their own, and every call passes the same executor, rules, approvals and ledger
// as in the toolwharf command.
//
// Mount [Host.Handler] in a server, or connect a client of the MCP SDK within the
// process by [Host.Transport], in tests too:
//
//	h, err := host.Open(ctx, host.Config{YAML: `plugins: {dirs: [plugins]}`})
//	...
//	defer h.Close()
//	mux.Handle("/mcp", h.Handler())
//
// The toolwharf command works on the host's state directory as on that of any other:
// approvals, runs and the ledger. There is no control socket, and a configuration
// that is a value is not reloaded. On Linux a plugin runs under a guardian, which is
// the program itself, executed again: it ends before main, but after package
// variables and init functions, so these should not have effects outside the process.
package host
