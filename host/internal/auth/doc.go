// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package auth tells who sends an HTTP request: the bearer of a token that it
// knows, or whoever an expression of the operator's names. It proves identity
// and decides nothing else; what a principal may do is the rules' business.
//
//	Authorization -> bearer -> Verifier -> Claims -> Names (if configured) -> tool.Principal
//
// Only tokens authenticate. The expression names a caller from what the request
// says of itself, which anybody can write, unless it uses the token alone.
package auth
