// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"golang.org/x/time/rate"
)

// hostLog is what the host's log holds of what a plugin has written.
func hostLog(t testing.TB, written string) []string {
	t.Helper()
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Name: "host.adapter", Level: hclog.Trace, Output: &out, JSONFormat: true})
	r := &logReader{
		Closer: io.NopCloser(nil), lines: bufio.NewReaderSize(strings.NewReader(written), maxLogLine), log: log,
		pace: rate.NewLimiter(logRate, logRate),
	}
	if n, err := r.Read(make([]byte, 10)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("go-plugin reads %d bytes, %v", n, err)
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		var entry map[string]any
		d := json.NewDecoder(strings.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&entry); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if entry["@module"] != "host.adapter" {
			t.Errorf("module is %v", entry["@module"])
		}
		delete(entry, "@module")
		delete(entry, "@timestamp")
		level, message := entry["@level"], entry["@message"]
		delete(entry, "@level")
		delete(entry, "@message")
		rest, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%v %v %s", level, message, rest))
	}
	return lines
}

func TestAPluginsLogKeepsItsLevelsAndAttributes(t *testing.T) {
	for name, tc := range map[string]struct{ line, want string }{
		"a JSON object":            {`{"@level":"warn","@message":"slow","@timestamp":"2026-01-01T00:00:00.000000Z","ms":9007199254740993,"q":{"a":[true,null]}}`, `warn slow {"ms":9007199254740993,"q":{"a":[true,null]}}`},
		"each level":               {`{"@level":"trace","@message":"x"}`, `trace x {}`},
		"a level before the text":  {`[ERROR] no database`, `error no database {}`},
		"plain text":               {`listening`, `debug listening {}`},
		"no level":                 {`{"@message":"x"}`, `debug {"@message":"x"} {}`},
		"an unknown level":         {`{"@level":"loud","@message":"x"}`, `debug {"@level":"loud","@message":"x"} {}`},
		"another JSON form":        {`{"level":"info","msg":"x"}`, `debug {"level":"info","msg":"x"} {}`},
		"two objects":              {`{"@level":"info","@message":"x"} {}`, `debug {"@level":"info","@message":"x"} {} {}`},
		"a message that is none":   {`{"@level":"info","@message":1}`, `debug {"@level":"info","@message":1} {}`},
		"a level that is none":     {`{"@level":[],"@message":"x"}`, `debug {"@level":[],"@message":"x"} {}`},
		"a time that is none":      {`{"@level":"info","@message":"x","@timestamp":5}`, `info x {}`},
		"somebody else's name":     {`{"@level":"info","@message":"x","@module":"toolwharf"}`, `info x {}`},
		"a forged second line":     {`{"@level":"info","@message":"x\nERROR the host is on fire","a\nb":"c\u001b[2J"}`, `info x\nERROR the host is on fire {"a\\nb":"c\\x1b[2J"}`},
		"what is no text":          {"\xff\x00", `debug ` + "\uFFFD" + `\x00 {}`},
		"a text that turns around": {"a\u202eb", `debug a\u202eb {}`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]string{tc.want}, hostLog(t, tc.line+"\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheStackOfAPanicIsAnError(t *testing.T) {
	want := []string{"debug before {}", "error panic: oh {}", "error goroutine 1 [running]: {}", `info tagged {}`, "error main.main() {}"}
	got := hostLog(t, "before\npanic: oh\ngoroutine 1 [running]:\n{\"@level\":\"info\",\"@message\":\"tagged\"}\nmain.main()\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestALineThatIsTooLongIsCutAndTheNextIsWhole(t *testing.T) {
	got := hostLog(t, strings.Repeat("x", 3*maxLogLine)+"\nnext\n")
	if len(got) != 2 || got[0] != "debug "+strings.Repeat("x", maxLogLine)+"... {}" || got[1] != "debug next {}" {
		t.Errorf("%d lines, the last is %.100s", len(got), got[len(got)-1])
	}
}

func TestAPluginThatWritesTooFastIsCutShortAndThatIsSaid(t *testing.T) {
	const lines = 4 * logRate / 1024
	got := hostLog(t, strings.Repeat(strings.Repeat("x", 1023)+"\n", lines))
	last := got[len(got)-1]
	if len(got) >= lines || !strings.Contains(last, "lines of the plugin's log were dropped") {
		t.Errorf("%d lines of %d, the last is %.100s", len(got), lines, last)
	}
}

func FuzzLog(f *testing.F) {
	f.Add([]byte(`{"@level":"info","@message":"x","@module":"y","a":[{"b":1e999}]}`))
	f.Add([]byte("[WARN] x\npanic: y\n{"))
	f.Fuzz(func(t *testing.T, written []byte) {
		for _, line := range hostLog(t, string(written)) {
			if strings.ContainsAny(line, "\x1b\r\n") {
				t.Errorf("a line holds %q", line)
			}
		}
	})
}
