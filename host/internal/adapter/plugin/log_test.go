// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"io"
	"strings"
	"testing"
	"time"
)

// heard collects what is read of each adapter's stderr.
type heard chan string

func (h heard) Read(adapter string, r io.Reader) {
	all, _ := io.ReadAll(r)
	h <- adapter + ": " + string(all)
}

// go-plugin asserts that @message is a text, in a goroutine of the host.
func TestALineThatWouldEndTheHostIsALine(t *testing.T) {
	const line = `{"@message":1,"@level":2,"@timestamp":3}`
	logs := make(heard, 1)
	h := newHarness(t)
	h.Logs = logs
	e := h.fails(desired(script(t, `echo '`+line+`' >&2; exit 3`)))
	expectWords(t, e.Error(), "its last words: "+line)
	select {
	case got := <-logs:
		if got != "orders: "+line+"\n" {
			t.Errorf("heard %q", got)
		}
	case <-time.After(bound):
		t.Fatal("nobody was told")
	}
}

func TestWhatIsSaidOfAFailureIsReadableAndHasNoSecretInIt(t *testing.T) {
	h := newHarness(t)
	h.Redact = func(adapter, text string) string {
		return strings.ReplaceAll(text, "hunter2 of "+adapter, "[redacted]")
	}
	e := h.fails(desired(script(t, `echo '{"@level":"error","@message":"no access with hunter2 of orders","code":7}' >&2; exit 3`)))
	expectWords(t, e.Error(), `its last words: no access with [redacted] {"code":7}`)

	in := h.started(desired(echo))
	out, err := in.Run(t.Context(), attempt(t, "crash", `{}`))
	_ = failure(t, out, err)
	select {
	case <-in.Done():
	case <-time.After(bound):
		t.Fatal("it runs on")
	}
	if got := in.Ended().Error(); !strings.HasPrefix(got, "exit status 3") {
		t.Errorf("ended with %q", got)
	}
}
