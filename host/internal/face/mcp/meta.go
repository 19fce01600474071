// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// Keys of _meta that are this host's own.
const (
	metaOurs        = "toolwharf/"
	metaRun         = metaOurs + "run_id"
	metaCall        = metaOurs + "call_id"
	metaApproval    = metaOurs + "approval_id"
	metaApprovalURL = metaOurs + "approval_url"
	metaErrorKind   = metaOurs + "error_kind"
	metaErrorCode   = metaOurs + "error_code"
	metaRan         = metaOurs + "ran"
	metaRetryAfter  = metaOurs + "retry_after_ms"
	metaRecorded    = metaOurs + "recorded"
	metaCached      = metaOurs + "cached"
)

var errNotMeta = errors.New("_meta is not a JSON object")

// foreignMeta returns the members of an adapter's _meta that clients may see:
// what the protocol reserves for the host to say, and what the host says in its
// own name, is left out. Values keep their digits.
func foreignMeta(raw json.RawMessage) (map[string]json.RawMessage, error) {
	var all map[string]json.RawMessage
	if len(raw) == 0 {
		return all, nil
	}
	if !utf8.Valid(raw) {
		return nil, errNotMeta
	}
	if err := json.Unmarshal(raw, &all); err != nil || all == nil {
		return nil, errNotMeta
	}
	for key := range all {
		if reservedKey(key) || strings.HasPrefix(key, metaOurs) {
			delete(all, key)
		}
	}
	return all, nil
}

// reservedKey reports whether the protocol keeps a _meta key for itself: a
// prefix whose second label is modelcontextprotocol or mcp (MCP 2025-11-25 and
// 2026-07-28, basic, _meta), or any label but the last (MCP 2025-06-18). A
// progressToken belongs to requests.
func reservedKey(key string) bool {
	prefix, _, found := strings.Cut(key, "/")
	if !found {
		return key == "progressToken"
	}
	labels := strings.Split(strings.ToLower(prefix), ".")
	for i, label := range labels {
		if (label == "mcp" || label == "modelcontextprotocol") && (i < 2 || i < len(labels)-1) {
			return true
		}
	}
	return false
}
