// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"fmt"
	"slices"
	"time"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
	"github.com/toolwharf/toolwharf/sdk/go/internal/schema"
)

// Level is how severe a message of [Notify] is (RFC 5424, as MCP has it).
type Level string

// The levels, the least severe first.
const (
	// LevelDebug is detail for debugging.
	LevelDebug Level = "debug"
	// LevelInfo is normal operation.
	LevelInfo Level = "info"
	// LevelNotice is normal, but significant.
	LevelNotice Level = "notice"
	// LevelWarning: something may be wrong.
	LevelWarning Level = "warning"
	// LevelError: something failed.
	LevelError Level = "error"
	// LevelCritical: a component failed.
	LevelCritical Level = "critical"
	// LevelAlert: act at once.
	LevelAlert Level = "alert"
	// LevelEmergency: unusable.
	LevelEmergency Level = "emergency"
)

// levels has each level where the protocol has its number.
var levels = []Level{
	"", LevelDebug, LevelInfo, LevelNotice, LevelWarning, LevelError, LevelCritical, LevelAlert, LevelEmergency,
}

// maxNotice is the largest message to a client, in bytes.
const maxNotice = 64 << 10

// Notify sends a log message to the client of this call, if it asked for messages
// that severe; most clients ask for none. Data is any value that can be
// marshalled: text, or an object with fields. It is for the user and perhaps the
// model, so the rules of [Error].Text hold: no secrets, no paths of the host. What
// is for the operator goes to [Log]. A message of more than 64 KiB is not sent, and
// that is logged. A call may send a hundred at once and twenty a second; what is beyond
// that is dropped.
func Notify(ctx context.Context, level Level, data any) {
	r, ok := ctx.Value(callKey{}).(*running)
	if !ok || r.notify == nil || !r.call.LogLevel.admits(level) {
		return
	}
	raw, err := (*schema.Type)(nil).Encode(data)
	if err == nil && len(raw) > maxNotice {
		err = fmt.Errorf("%d bytes are more than %d", len(raw), maxNotice)
	}
	if err != nil {
		r.log.Warn("a message to the client was not sent", "call_id", r.call.ID, "error", err)
		return
	}
	if !r.notices.take(time.Now()) {
		return
	}
	r.notify(&pluginv1.LogMessage{Level: level.wire(), Data: raw})
}

// admits says whether a client that wants l wants the other as well.
func (l Level) admits(other Level) bool {
	return slices.Index(levels, l) > 0 && other.wire() >= l.wire()
}

// wire is the level's number; a level that there is not is taken for info.
func (l Level) wire() pluginv1.LogLevel {
	if n := slices.Index(levels, l); n > 0 {
		return pluginv1.LogLevel(n) //nolint:gosec // one of nine
	}
	return pluginv1.LogLevel_LOG_LEVEL_INFO
}

func levelOf(w pluginv1.LogLevel) Level {
	if w > 0 && int(w) < len(levels) {
		return levels[w]
	}
	return ""
}
