// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package logbook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/toolwharf/toolwharf/host/internal/redact"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "correct-horse-battery"

// book is one whose adapter orders has a secret, and the host's log.
func book(format string) (*Book, *bytes.Buffer) {
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Name: "toolwharf", Level: hclog.Trace, Output: &out, JSONFormat: format == "json", DisableTime: true})
	var r redact.Redactor
	r.Set("orders", []string{secret})
	return New(log.Named("adapter"), &r), &out
}

// kept are the last lines of the adapter orders.
func kept(b *Book, n int) []Line {
	return slices.Collect(b.Lines(context.Background(), "orders", n, false))
}

func TestALineKeepsItsLevelAndItsAttributes(t *testing.T) {
	for name, tc := range map[string]struct {
		line, level, message, attributes string
	}{
		"of hclog": {
			`{"@level":"warn","@message":"slow","@module":"sql","@timestamp":"2026-11-30T18:00:00.000000Z","rows":3,"took":1.50,"ok":true,"none":null,"list":[1,{"a":"b"}]}`,
			"warn", "slow", `{"list":[1,{"a":"b"}],"none":null,"ok":true,"rows":3,"took":1.50}`,
		},
		"of hclog without a level":                        {`{"@message":"x"}`, "debug", "x", ""},
		"of hclog whose level is none":                    {`{"@message":"x","@level":"off"}`, "debug", "x", ""},
		"of hclog with a number beyond doubles":           {`{"@message":"x","n":9007199254740993}`, "debug", "x", `{"n":9007199254740993}`},
		"whose message is a number":                       {`{"@message":7}`, "debug", `{"@message":7}`, ""},
		"whose level is a list":                           {`{"@message":"x","@level":[]}`, "debug", "x", ""},
		"of JSON that is something else":                  {`{"msg":"x","level":30}`, "debug", `{"msg":"x","level":30}`, ""},
		"of half a JSON":                                  {`{"@message":"x`, "debug", `{"@message":"x`, ""},
		"with a level before it":                          {"[WARN] low on disk", "warn", "low on disk", ""},
		"with a level in other words":                     {"[Critical] low on disk", "error", "low on disk", ""},
		"with something else before it":                   {"[main] hello", "debug", "[main] hello", ""},
		"of text":                                         {"hello", "debug", "hello", ""},
		"of Windows":                                      {"hello\r", "debug", "hello", ""},
		"with what a terminal would act upon":             {"a\x1b[31mred\x07 \u202etxt\u0085 \xff", "debug", `a\x1b[31mred\a \u202etxt\u0085 ` + "\uFFFD", ""},
		"that pretends to be two":                         {`{"@message":"x\n[ERROR] toolwharf: fake","a\n":"b\nc"}`, "debug", `x\n[ERROR] toolwharf: fake`, `{"a\\n":"b\\nc"}`},
		"that pretends to be the host's":                  {`{"@message":"x","@@module":"toolwharf","@host":"h"}`, "debug", "x", ""},
		"with a secret":                                   {"password " + secret, "debug", "password [redacted]", ""},
		"with a secret in its attributes":                 {`{"@message":"a ` + secret + `","dsn":{"p":"` + secret + `"},"` + secret + `":1}`, "debug", "a [redacted]", `{"[redacted]":1,"dsn":{"p":"[redacted]"}}`},
		"with a secret that is written in JSON's escapes": {`{"@message":"\u0063orrect-horse-battery"}`, "debug", "[redacted]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b, out := book("json")
			b.Read("orders", strings.NewReader(tc.line+"\n"))
			lines := kept(b, 10)
			if len(lines) != 1 {
				t.Fatalf("%+v", lines)
			}
			l := lines[0]
			if l.Level.String() != tc.level || l.Message != tc.message || string(l.Attributes) != tc.attributes || l.Time.IsZero() {
				t.Errorf("kept as %s %q %s", l.Level, l.Message, l.Attributes)
			}
			want := map[string]any{}
			if tc.attributes != "" {
				_ = json.Unmarshal([]byte(tc.attributes), &want)
			}
			want["@level"], want["@message"], want["@module"] = tc.level, tc.message, "toolwharf.adapter.orders"
			var logged map[string]any
			if err := json.Unmarshal(out.Bytes(), &logged); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			if diff := cmp.Diff(want, logged); diff != "" {
				t.Errorf("the log (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatThePluginSaysIsOneLineOfTheTextualLogToo(t *testing.T) {
	b, out := book("text")
	b.Read("orders", strings.NewReader("a\vb\n"+`{"@message":"x\ny","k":"v\nw","m":{"a":"b\nc"}}`+"\nlast, without an end"))
	want := `[DEBUG] toolwharf.adapter.orders: a\vb` + "\n"
	if got := out.String(); !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 3 {
		t.Errorf("%s", got)
	}
}

func TestTheTraceOfAPanicIsAnError(t *testing.T) {
	b, _ := book("json")
	b.Read("orders", strings.NewReader("hello\npanic: no\n\ngoroutine 1 [running]:\n"+`{"@message":"last","@level":"info"}`))
	var levels []string
	for _, l := range kept(b, 10) {
		levels = append(levels, l.Level.String())
	}
	if diff := cmp.Diff([]string{"debug", "error", "error", "info"}, levels); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b.Read("orders", strings.NewReader("of the next process"))
	if l := kept(b, 1); l[0].Level != Unlevelled {
		t.Errorf("%+v", l)
	}
}

func TestALineThatIsTooLongIsCutAndSaysSo(t *testing.T) {
	b, _ := book("json")
	long := strings.Repeat("ä", maxLine)
	b.Read("orders", strings.NewReader("before\n"+long+"\nafter\n"))
	lines := kept(b, 10)
	if len(lines) != 3 || lines[0].Message != "before" || lines[2].Message != "after" {
		t.Fatalf("%d lines", len(lines))
	}
	want := fmt.Sprintf(`{"cut_from_bytes":%d}`, len(long)+1)
	if cut := lines[1]; len(cut.Message) > maxLine/2 || strings.Trim(cut.Message, "ä") != "" || string(cut.Attributes) != want {
		t.Errorf("%d bytes, %s", len(cut.Message), cut.Attributes)
	}
}

// A secret that the end of what is read has cut in two is not told by half.
func TestASecretAtTheCutIsNotTold(t *testing.T) {
	b, out := book("json")
	b.Read("orders", strings.NewReader(strings.Repeat("x", maxLine-10)+secret+"\n"))
	if strings.Contains(out.String(), secret[:4]) {
		t.Error("half a secret is told")
	}
}

func TestBeyondTheRateLinesAreDroppedAndTheirNumberIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := book("json")
		line := strings.Repeat("x", 1023) + "\n" // 256 of them are a second's
		r, w := io.Pipe()
		over := make(chan struct{})
		go func() {
			defer close(over)
			b.Read("orders", r)
		}()
		_, _ = io.WriteString(w, strings.Repeat(line, 300)+"short\n")
		synctest.Wait()
		if l := kept(b, 1); strings.Contains(l[0].Message, "dropped") {
			t.Errorf("before its time: %+v", l)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		l := kept(b, 1)[0]
		if l.Level != hclog.Warn || l.Message != "log lines were dropped: more than 256 KiB came within a second" ||
			string(l.Attributes) != fmt.Sprintf(`{"bytes":%d,"lines":45}`, 44*1024+len("short\n")) {
			t.Errorf("%s %q %s", l.Level, l.Message, l.Attributes)
		}
		_, _ = io.WriteString(w, "again\n")
		synctest.Wait()
		if l := kept(b, 1)[0]; l.Message != "again" {
			t.Errorf("%+v", l)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if l := kept(b, 1)[0]; l.Message != "again" {
			t.Errorf("said twice: %+v", l)
		}
		_ = w.Close()
		<-over
	})
}

func TestTheLastLinesAreKept(t *testing.T) {
	b, _ := book("json")
	p := b.page("orders")
	for i := range 3 * MaxLines {
		p.take(Line{Message: fmt.Sprint(i)})
	}
	all := kept(b, 2*MaxLines)
	if len(all) != MaxLines || all[0].Message != fmt.Sprint(2*MaxLines) || all[MaxLines-1].Message != fmt.Sprint(3*MaxLines-1) {
		t.Errorf("%d lines, from %+v", len(all), all[0])
	}
	if got := kept(b, 2); len(got) != 2 || got[1].Message != fmt.Sprint(3*MaxLines-1) {
		t.Errorf("%+v", got)
	}
	if got := kept(b, 0); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	large := strings.Repeat("x", 10<<10)
	for range 20 {
		p.take(Line{Message: large})
	}
	bytes := 0
	for _, l := range kept(b, MaxLines) {
		bytes += l.size()
	}
	if bytes > MaxBytes || bytes < MaxBytes/2 {
		t.Errorf("%d bytes are kept", bytes)
	}
	p.take(Line{Message: strings.Repeat("y", 2*MaxBytes)})
	if got := kept(b, MaxLines); len(got) != 1 {
		t.Errorf("%d lines beside one that is too large", len(got))
	}
}

func TestLinesAreFollowedUntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _ := book("json")
		p := b.page("orders")
		for i := range 5 {
			p.take(Line{Message: fmt.Sprint(i)})
		}
		ctx, cancel := context.WithCancel(t.Context())
		var got []string
		over := make(chan struct{})
		go func() {
			defer close(over)
			for l := range b.Lines(ctx, "orders", 2, true) {
				got = append(got, l.Message)
			}
		}()
		synctest.Wait()
		b.page("shop").take(Line{Message: "another's"})
		p.take(Line{Message: "5"})
		synctest.Wait()
		p.take(Line{Message: "6"})
		synctest.Wait()
		cancel()
		<-over
		if diff := cmp.Diff([]string{"3", "4", "5", "6"}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestThePagesOfAdaptersThatAreLongGoneMakeRoom(t *testing.T) {
	b, _ := book("json")
	for i := range maxPages + 10 {
		b.Read(fmt.Sprint("adapter", i), strings.NewReader("hello\n"))
	}
	if len(b.pages) != maxPages {
		t.Errorf("%d pages", len(b.pages))
	}
	if got := slices.Collect(b.Lines(t.Context(), fmt.Sprint("adapter", maxPages+9), 1, false)); len(got) != 1 {
		t.Errorf("the newest one is gone: %+v", got)
	}
}

func TestPlainIsWhatALineSays(t *testing.T) {
	for line, want := range map[string]string{
		`{"@level":"error","@message":"no\nway","code":7}`: `no\nway {"code":7}`,
		`{"@message":"x"}`: "x",
		"[INFO] hello":     "hello",
		"hello":            "hello",
	} {
		if got := Plain(line); got != want {
			t.Errorf("%s is read as %s", line, got)
		}
	}
}

// Whatever comes, it becomes lines of the host's log that are the adapter's.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"hello\n", `{"@message":"x","@level":"warn","a":{"b":[1,null]}}` + "\n", `{"@message":1}`, "[WARN] x\r\n", "panic: x\n",
		"\xff\x00\x1b[2J\n", `{"@message":"` + secret + `"}`, "{\"@message\":\"x\",\"@module\":\"toolwharf\"}\n\n", strings.Repeat("[", 300), `{"@message":"x","":"\u2028","@":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, format := range []string{"json", "text"} {
			b, out := book(format)
			b.Read("orders", bytes.NewReader(raw))
			if bytes.Contains(out.Bytes(), []byte(secret)) {
				t.Errorf("a secret is told: %s", out)
			}
			for line := range strings.Lines(out.String()) {
				var entry map[string]any
				switch {
				case format == "text" && !strings.Contains(line, " toolwharf.adapter.orders"):
					t.Errorf("whose line is %q?", line)
				case format == "json" && (json.Unmarshal([]byte(line), &entry) != nil || entry["@module"] != "toolwharf.adapter.orders"):
					t.Errorf("whose line is %q?", line)
				case strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\x1b\x00\r\a\u202e"):
					t.Errorf("a terminal acts upon %q", line)
				}
			}
			for _, l := range kept(b, MaxLines) {
				if l.Attributes != nil && !json.Valid(l.Attributes) {
					t.Errorf("attributes %s", l.Attributes)
				}
			}
		}
	})
}
