// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// notices are the messages that reach a client that wants a level.
func notices(t *testing.T, wanted Level, say func(context.Context)) (sent []*pluginv1.LogMessage, logged string) {
	t.Helper()
	var log strings.Builder
	say(context.WithValue(t.Context(), callKey{}, &running{
		call: Call{LogLevel: wanted}, log: slog.New(slog.NewTextHandler(&log, nil)),
		notify: func(m *pluginv1.LogMessage) { sent = append(sent, m) },
	}))
	return sent, log.String()
}

func TestClientsGetWhatIsAsSevereAsTheyWant(t *testing.T) {
	for i, wanted := range levels {
		sent, _ := notices(t, wanted, func(ctx context.Context) {
			for _, l := range levels[1:] {
				Notify(ctx, l, string(l))
			}
		})
		want := len(levels) - i
		if wanted == "" {
			want = 0
		}
		if len(sent) != want || want > 0 && string(sent[0].GetData()) != `"`+string(wanted)+`"` {
			t.Errorf("wants %q: got %v", wanted, sent)
		}
	}
	if sent, _ := notices(t, "loud", func(ctx context.Context) { Notify(ctx, LevelEmergency, "x") }); len(sent) > 0 {
		t.Errorf("got %v", sent)
	}
	Notify(t.Context(), LevelEmergency, "outside of a call nobody hears")
}

func TestLevelsAreThoseOfTheProtocol(t *testing.T) {
	for n, name := range pluginv1.LogLevel_name {
		l := levelOf(pluginv1.LogLevel(n))
		if n == 0 {
			if l != "" {
				t.Errorf("%s is %q", name, l)
			}
			continue
		}
		if "LOG_LEVEL_"+strings.ToUpper(string(l)) != name || l.wire() != pluginv1.LogLevel(n) {
			t.Errorf("%s is %q, which is %v", name, l, l.wire())
		}
	}
	if levelOf(99) != "" || levelOf(-1) != "" || Level("loud").wire() != pluginv1.LogLevel_LOG_LEVEL_INFO {
		t.Error("levels that there are not")
	}
}

func TestMessagesToTheClientAreJSONAndBounded(t *testing.T) {
	sent, logged := notices(t, LevelDebug, func(ctx context.Context) {
		Notify(ctx, LevelInfo, map[string]any{"n": int64(9007199254740993), "s": Secret("s3cret"), "t": "<\xff>"})
		Notify(ctx, LevelInfo, strings.Repeat("x", maxNotice))
		Notify(ctx, LevelInfo, func() {})
	})
	if len(sent) != 1 || string(sent[0].GetData()) != `{"n":9007199254740993,"s":"***","t":"<\ufffd>"}` {
		t.Errorf("got %v", sent)
	}
	if strings.Count(logged, "was not sent") != 2 || !strings.Contains(logged, "65538 bytes are more than 65536") {
		t.Errorf("logged %s", logged)
	}
}
