//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLastWordsAreTheLastThreeLinesOfStderrWithinABound(t *testing.T) {
	for name, tc := range map[string]struct {
		body, want string
	}{
		"nothing":               {`echo out`, ""},
		"one line":              {`echo sorry >&2`, "sorry"},
		"no newline at the end": {`printf sorry >&2`, "sorry"},
		"the last three":        {`for i in 1 2 3 4 5; do echo $i >&2; done`, "3\n4\n5"},
		"of very many":          {`i=0; while [ $i -lt 3000 ]; do echo line $i >&2; i=$((i+1)); done`, "line 2997\nline 2998\nline 2999"},
		"one very long line":    {`head -c 100000 /dev/zero | tr '\0' x >&2`, strings.Repeat("x", maxWords)},
		"what is not UTF-8":     {`printf 'a\377b' >&2`, "a\uFFFDb"},
	} {
		t.Run(name, func(t *testing.T) {
			r := sh(t, tc.body)
			r.ends(t)
			if got := r.LastWords(); got != tc.want {
				t.Errorf("%d bytes %.100q, want %d bytes %.100q", len(got), got, len(tc.want), tc.want)
			}
			if got := r.Diagnose(t.Context()); got != tc.want {
				t.Errorf("diagnosed as %.100q", got)
			}
		})
	}
}

func TestTheFirstLineIsTheBeginningOfStdoutWithinABound(t *testing.T) {
	for name, tc := range map[string]struct {
		body, want string
	}{
		"nothing":               {`echo err >&2`, ""},
		"the first of several":  {`echo 1; echo 2`, "1"},
		"no newline at the end": {`printf hello`, "hello"},
		"one very long line":    {`head -c 10000 /dev/zero | tr '\0' x`, strings.Repeat("x", maxLine)},
		"what is not UTF-8":     {`printf 'a\377b\n'`, "a\uFFFDb"},
		"in two writes":         {`printf hel; sleep 0.05; echo lo; echo 2`, "hello"},
	} {
		t.Run(name, func(t *testing.T) {
			r := sh(t, tc.body)
			r.ends(t)
			r.rest(t)
			if got := r.FirstLine(); got != tc.want {
				t.Errorf("%.300q, want %.300q", got, tc.want)
			}
			if !utf8.ValidString(r.FirstLine()) {
				t.Error("not UTF-8")
			}
		})
	}
}

// go-plugin reads stdout with a bufio.Scanner, which gives up at a line of
// 64 KiB; nobody would read the pipe after that.
func TestWhatAPluginPrintsAfterTheHandshakeNeverBlocksIt(t *testing.T) {
	r := sh(t, `echo handshake; sleep 0.05; head -c 1000000 /dev/zero | tr '\0' x; echo done >&2`)
	if got := r.line(t); got != "handshake" {
		t.Errorf("first line %q", got)
	}
	r.ends(t)
	if got := r.LastWords(); got != "done" {
		t.Errorf("last words %q", got)
	}
	for _, l := range r.rest(t) {
		if strings.Trim(l, "x") != "" {
			t.Errorf("line %.100q", l)
		}
	}
}
