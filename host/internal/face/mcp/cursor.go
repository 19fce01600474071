// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/base64"
	"regexp"
)

// A cursor stands for "after this name". It holds when tools come and go
// between two pages: none that was there all the time is missed or told twice.
// Clients are to take it as opaque (MCP 2026-07-28, server/utilities/pagination).

// cursorOfTools tells a cursor of tools/list, in this form, from any other.
const cursorOfTools = "t1:"

var publicName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func encodeCursor(name string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(cursorOfTools + name))
}

// decodeCursor returns the name, false for what encodeCursor cannot have made.
func decodeCursor(cursor string) (name string, ok bool) {
	if len(cursor) > 128 {
		return "", false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) < len(cursorOfTools) || string(b[:len(cursorOfTools)]) != cursorOfTools {
		return "", false
	}
	name = string(b[len(cursorOfTools):])
	return name, publicName.MatchString(name) && encodeCursor(name) == cursor
}
