// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/toolwharf/toolwharf/host/internal/telemetry"
)

func TestTheLogIsJSONUnlessItIsText(t *testing.T) {
	for format, wantJSON := range map[string]bool{"": true, "json": true, "text": false} { // a buffer is no terminal
		var out bytes.Buffer
		telemetry.NewLog(telemetry.Options{Format: format, Out: &out}).Info("hello", "a", 1)
		var line map[string]any
		isJSON := json.Unmarshal(out.Bytes(), &line) == nil
		if isJSON != wantJSON {
			t.Errorf("format %q: %s", format, &out)
		}
		if wantJSON && (line["@message"] != "hello" || line["a"] != 1.0 || line["@module"] != "toolwharf") {
			t.Errorf("format %q: %s", format, &out)
		}
		if !wantJSON && !strings.Contains(out.String(), "[INFO]  toolwharf: hello: a=1") {
			t.Errorf("format %q: %s", format, &out)
		}
	}
}

func TestAFileIsNoTerminal(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	telemetry.NewLog(telemetry.Options{Out: f}).Info("hello")
	raw, err := os.ReadFile(f.Name())
	if err != nil || !json.Valid(raw) {
		t.Errorf("%s, %v", raw, err)
	}
}

func TestWhatIsBelowTheLevelIsNotWritten(t *testing.T) {
	for level, want := range map[string]string{
		"":      "info warn error",
		"trace": "trace debug info warn error",
		"debug": "debug info warn error",
		"info":  "info warn error",
		"warn":  "warn error",
		"error": "error",
		"off":   "",
		"loud":  "info warn error", // as if nothing was said
	} {
		for how, write := range map[string]func(hclog.Logger){
			"hclog": func(l hclog.Logger) {
				l.Trace("trace")
				l.Debug("debug")
				l.Info("info")
				l.Warn("warn")
				l.Error("error")
			},
			"slog": func(l hclog.Logger) {
				s := telemetry.Slog(l)
				s.Log(t.Context(), slog.LevelDebug-4, "trace")
				s.Debug("debug")
				s.Info("info")
				s.Warn("warn")
				s.Error("error")
			},
		} {
			var out bytes.Buffer
			write(telemetry.NewLog(telemetry.Options{Level: level, Format: "json", Out: &out}))
			var got []string
			for line := range strings.Lines(out.String()) {
				var v struct {
					Message string `json:"@message"`
					Level   string `json:"@level"`
				}
				if err := json.Unmarshal([]byte(line), &v); err != nil {
					t.Fatal(err)
				}
				if v.Message != v.Level {
					t.Errorf("%s: %s is written as %s", how, v.Message, v.Level)
				}
				got = append(got, v.Message)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("level %q by %s: %q, want %q", level, how, got, want)
			}
		}
	}
}

func TestSlogAttributesAreHclogArguments(t *testing.T) {
	for name, tc := range map[string]struct {
		write func(*slog.Logger)
		want  map[string]any
	}{
		"of a record": {
			func(l *slog.Logger) { l.Info("m", "a", 1, "b", "two") },
			map[string]any{"a": 1.0, "b": "two"},
		},
		"of the logger": {
			func(l *slog.Logger) { l.With("a", 1).With("b", 2).Info("m", "c", 3) },
			map[string]any{"a": 1.0, "b": 2.0, "c": 3.0},
		},
		"of a group of the logger": {
			func(l *slog.Logger) { l.With("a", 1).WithGroup("g").With("b", 2).WithGroup("h").Info("m", "c", 3) },
			map[string]any{"a": 1.0, "g.b": 2.0, "g.h.c": 3.0},
		},
		"of a group of the record": {
			func(l *slog.Logger) { l.WithGroup("g").Info("m", slog.Group("h", "a", 1, slog.Group("i", "b", 2))) },
			map[string]any{"g.h.a": 1.0, "g.h.i.b": 2.0},
		},
		"of a group without a name": {
			func(l *slog.Logger) { l.WithGroup("").Info("m", slog.Group("", "a", 1)) },
			map[string]any{"a": 1.0},
		},
		"whose value is computed": {
			func(l *slog.Logger) { l.Info("m", "a", later{}) },
			map[string]any{"a": "now"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			tc.write(telemetry.Slog(telemetry.NewLog(telemetry.Options{Format: "json", Out: &out})))
			var got map[string]any
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatalf("%v: %s", err, &out)
			}
			for key := range got {
				if strings.HasPrefix(key, "@") {
					delete(got, key)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

type later struct{}

func (later) LogValue() slog.Value { return slog.StringValue("now") }

func TestWhatGoPluginSaysLouderThanItIsMeantIsNotWritten(t *testing.T) {
	var out bytes.Buffer
	l := telemetry.NewLog(telemetry.Options{Level: "trace", Out: &out}).Named("adapter")
	for _, noise := range []string{
		"stdio service not available, stopping", "plugin process exited", "error closing client during Kill", "plugin failed to exit gracefully",
	} {
		l.Error(noise)
	}
	if out.Len() != 0 {
		t.Errorf("written: %s", &out)
	}
	l.Error("a plugin process exited") // is not how go-plugin words it
	if out.Len() == 0 {
		t.Error("too much is kept back")
	}
}
