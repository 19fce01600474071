// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package redact takes secrets out of what leaves the host: results, errors,
// events, and with them what log and ledger say. It is the last filter of a call.
//
// It knows the secrets of an adapter and those of the host, of 12 bytes or more,
// and finds each plain, in base64, URL-encoded and JSON-escaped, in one pass. It
// is a net under adapters that say too much, not a wall: an adapter that wants to
// can spell its secret in a way that nobody looks for.
package redact
