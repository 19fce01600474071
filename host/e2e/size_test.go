// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Bounds that a call meets on its way.
const (
	kib = 1 << 10
	mib = 1 << 20

	maxBody    = mib      // by default
	maxResult  = mib      // of text
	maxMessage = 16 * mib // between host and plugin, and of a line of stdio
)

func sizes() []int {
	return soaked([]int{64*kib - 1, 64 * kib, mib, 5 * mib, 16 * mib}, []int{64*kib - 1, 64 * kib, mib, 4 * mib, 5 * mib, 16 * mib, 20 * mib})
}

// called calls a tool over one transport.
type called func(ctx context.Context, tool, args string) answer

// sizesPass sends arguments and asks for results of each size, in one
// conversation: each is answered, with what was asked for or with the error of
// the bound that it met, and what comes after it is served.
func sizesPass(t *testing.T, call called, largest int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	for _, n := range sizes() {
		a := call(ctx, "echo_echo", fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", n)))
		switch {
		case a.err != nil:
			t.Fatalf("arguments of %d bytes: %v", n, a.err)
		case n >= largest: // with what is around the text, it is beyond
			if (a.status != http.StatusRequestEntityTooLarge || a.code != `"body-too-large"`) && a.kind != "rpc_error" {
				t.Errorf("arguments of %d bytes, of which %d may come: %v", n, largest, a)
			}
		case n >= maxMessage:
			if a.kind != "args_invalid" || a.code != "args_too_large" {
				t.Errorf("arguments of %d bytes, more than a plugin takes: %v", n, a)
			}
		case n > maxResult:
			if !a.ok() || len(a.text) != maxResult || !strings.Contains(a.text, "[cut: ") {
				t.Errorf("arguments of %d bytes, more than may come back: %d came, %v", n, len(a.text), a)
			}
		case !a.ok() || len(a.text) != n:
			t.Errorf("arguments of %d bytes: %d came back, %v", n, len(a.text), a)
		}
		if a := call(ctx, "echo_echo", `{"text":"after arguments"}`); !a.ok() || a.text != "after arguments" {
			t.Fatalf("after arguments of %d bytes: %v", n, a)
		}

		a = call(ctx, "echo_big", fmt.Sprintf(`{"bytes":%d}`, n))
		switch {
		case a.err != nil:
			t.Fatalf("a result of %d bytes: %v", n, a.err)
		case n < maxResult && (!a.ok() || a.structured != `{"text":"`+strings.Repeat("x", n)+`"}`):
			t.Errorf("a result of %d bytes: %v", n, a)
		case n >= maxResult && a.kind != "result_too_large":
			t.Errorf("a result of %d bytes, of which %d are given: %v", n, maxResult, a)
		}
		if a := call(ctx, "echo_echo", `{"text":"after a result"}`); !a.ok() || a.text != "after a result" {
			t.Fatalf("after a result of %d bytes: %v", n, a)
		}
	}
}

func TestUnderStressArgumentsAndResultsOfEachSizeAreServedOrRefusedOverHTTP(t *testing.T) {
	for largest, key := range map[int]string{maxBody: "", 32 * mib: "max_body: 32MiB,"} {
		dir, plugins := workspace(t, fmt.Sprintf("http: {%s listen: %q}\n", key, freePort(t)))
		install(t, "echo", plugins)
		h := serve(t, dir)
		pid := h.moored()["echo"].PID
		c := h.caller()
		t.Run(key+"2026-07-28", func(t *testing.T) { sizesPass(t, c.call, largest) })
		t.Run(key+"2025-06-18", func(t *testing.T) { sizesPass(t, c.callOld, largest) })
		if a := h.moored()["echo"]; a.PID != pid {
			t.Errorf("the adapter is another one now: %+v", a)
		}
	}
}

func TestUnderStressArgumentsAndResultsOfEachSizeAreServedOrRefusedOverStdio(t *testing.T) {
	for _, protocol := range []string{"2026-07-28", "2025-06-18"} {
		t.Run(protocol, func(t *testing.T) {
			dir, plugins := workspace(t, "")
			install(t, "echo", plugins)
			s := speak(t, dir)
			if protocol == "2025-06-18" {
				a := s.ask(t.Context(), 1, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
				if a.err != nil {
					t.Fatal(a.err)
				}
				if _, err := io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
					t.Fatal(err)
				}
			}
			sizesPass(t, s.call(protocol), maxMessage)
		})
	}
}

// speaker is a client of a host over stdio.
type speaker struct {
	in    io.Writer
	lines chan string
	last  int
}

func speak(t *testing.T, dir string) *speaker {
	t.Helper()
	cmd, stderr := stdioCommand(t, dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &speaker{in: in, lines: make(chan string, 16), last: 1}
	go func() {
		defer close(s.lines)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			s.lines <- line
		}
	}()
	t.Cleanup(func() {
		_ = in.Close()
		for range s.lines {
		}
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("the host ended: %v\n%s", err, stderr)
		}
	})
	return s
}

// ask sends a request and waits for the answer to it; other messages that come
// are notices.
func (s *speaker) ask(ctx context.Context, id int, request string) answer {
	if _, err := io.WriteString(s.in, request+"\n"); err != nil {
		return answer{err: err}
	}
	for {
		select {
		case line, open := <-s.lines:
			if !open {
				return answer{err: io.ErrUnexpectedEOF}
			}
			if strings.Contains(line, `"method":`) {
				continue
			}
			a := read([]byte(line), id)
			a.status = http.StatusOK
			return a
		case <-time.After(patience):
			return answer{err: fmt.Errorf("no answer to request %d", id)}
		case <-ctx.Done():
			return answer{err: ctx.Err()}
		}
	}
}

func (s *speaker) call(protocol string) called {
	return func(ctx context.Context, tool, args string) answer {
		s.last++
		params := fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args)
		if protocol == "2026-07-28" {
			return s.ask(ctx, s.last, second(modern(s.last, "tools/call", "", params)))
		}
		return s.ask(ctx, s.last, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s}}`, s.last, params))
	}
}
