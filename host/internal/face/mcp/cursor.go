// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"encoding/base64"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxCursor is above the longest, that of a URI.
const maxCursor = 4 << 10

var publicName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// A cursor stands for "after this name". It holds when tools come and go
// between two pages: none that was there all the time is missed or told twice.
// Clients are to take it as opaque (MCP 2026-07-28, server/utilities/pagination).

func encodeCursor(k kind, name string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(k.mark() + name))
}

// decodeCursor returns the name, false for what encodeCursor cannot have made.
func decodeCursor(k kind, cursor string) (name string, ok bool) {
	if len(cursor) > maxCursor {
		return "", false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil {
		return "", false
	}
	name, ok = strings.CutPrefix(string(b), k.mark())
	named := publicName.MatchString(name)
	if k == resources || k == templates {
		named = name != "" && utf8.ValidString(name)
	}
	return name, ok && named && encodeCursor(k, name) == cursor
}
