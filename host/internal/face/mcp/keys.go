// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// headerRun names the run over HTTP, for clients that cannot set _meta.
const headerRun = "X-Run-Id"

// maxKey is the longest key of a client's own, in bytes.
const maxKey = 256

// keys fills in whether the caller can come back for a call, and the client's
// own keys of a run and of a pending call, as far as they count. A key that
// cannot be one is as good as none. A stdio call that names no run belongs to
// the process's.
func (f *Face) keys(o *origin, call *tool.Call, run, key string, header http.Header) {
	run, key = readable(run), readable(key)
	if run == "" && !o.stdio {
		run = readable(header.Get(headerRun))
	}
	switch call.Resumable = f.keysCount(o.principal); {
	case call.Resumable:
		call.Run, call.Key = run, key
	case run != "" || key != "":
		f.keyless.Do(func() {
			f.log.Warn("keys of runs and of pending calls are ignored where callers have no name: one could come back for another's call; "+
				"authenticate them, or set http.allow_anonymous", "principal", o.principal.String())
		})
	}
	if call.Run == "" && o.stdio {
		call.Run = f.processRun
	}
}

// keysCount reports whether the run and call keys of a caller count: two
// callers without a name would share what they name.
func (f *Face) keysCount(p tool.Principal) bool {
	switch p.Kind {
	case tool.Token, tool.Operator:
		return true
	case tool.Stdio:
		return f.config.AllowAnonymous == nil || *f.config.AllowAnonymous
	case tool.Anonymous:
		return f.config.AllowAnonymous != nil && *f.config.AllowAnonymous
	default:
		return false
	}
}

// readable returns a key that is short and printable, "" for any other.
func readable(key string) string {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if len(key) > maxKey || !utf8.ValidString(key) || strings.ContainsFunc(key, unprintable) {
		return ""
	}
	return key
}
