// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package logline

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func decode(t *testing.T, line []byte) map[string]any {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if _, err := time.Parse(timeLayout, got["@timestamp"].(string)); err != nil {
		t.Error(err)
	}
	delete(got, "@timestamp")
	return got
}

func TestLinesAreHclogs(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(New(&out, "sql", slog.Level(-8)))
	for _, c := range []struct {
		say  func()
		want map[string]any
	}{
		{func() { log.Info("hi", "n", 1) }, map[string]any{"@level": "info", "@message": "hi", "@module": "sql", "n": 1.0}},
		{func() { log.Log(t.Context(), -8, "t") }, map[string]any{"@level": "trace", "@message": "t", "@module": "sql"}},
		{func() { log.Debug("d") }, map[string]any{"@level": "debug", "@message": "d", "@module": "sql"}},
		{func() { log.Warn("w") }, map[string]any{"@level": "warn", "@message": "w", "@module": "sql"}},
		{func() { log.Error("e") }, map[string]any{"@level": "error", "@message": "e", "@module": "sql"}},
		{
			func() { log.Info("hi", "msg", "m", "level", "l", "time", 3, "@module", "x") },
			map[string]any{"@level": "info", "@message": "hi", "@module": "sql", "msg": "m", "level": "l", "time": 3.0, "module": "x"},
		},
		{
			func() { log.With("level", 1).WithGroup("g").Info("hi", "level", 2, "msg", "m") },
			map[string]any{"@level": "info", "@message": "hi", "@module": "sql", "level": 1.0, "g": map[string]any{"level": 2.0, "msg": "m"}},
		},
	} {
		out.Reset()
		c.say()
		if diff := cmp.Diff(c.want, decode(t, out.Bytes())); diff != "" {
			t.Error(diff)
		}
	}
}

func TestLinesAreCutAndStayJSON(t *testing.T) {
	for _, message := range []string{"short", strings.Repeat("é", MaxLine), strings.Repeat("\x01", MaxLine), strings.Repeat("<", MaxLine)} {
		var out bytes.Buffer
		slog.New(New(&out, "sql", slog.LevelInfo)).Warn(message, "stack", strings.Repeat("x", MaxLine))
		if out.Len() > MaxLine || bytes.Count(out.Bytes(), []byte("\n")) != 1 {
			t.Errorf("%d bytes", out.Len())
		}
		got := decode(t, out.Bytes())
		if got["@level"] != "warn" || got["@module"] != "sql" || got["cut_from_bytes"].(float64) < MaxLine ||
			!strings.HasPrefix(message, strings.TrimSuffix(got["@message"].(string), "...")) {
			t.Errorf("got %.200v", got)
		}
	}
}

func TestLinesOfManyAreWhole(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(New(&out, "sql", slog.LevelInfo))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				log.With("a", 1).Info("hi", "level", 1)
			}
		})
	}
	wg.Wait()
	n := 0
	for line := range bytes.Lines(out.Bytes()) {
		decode(t, line)
		n++
	}
	if n != 400 {
		t.Errorf("%d lines", n)
	}
}
