// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wrong is one line of the corpus.
type wrong struct {
	name, http, stdio string
	headers           []string
	body              string
}

// goodMeta and goodParams are what a call of 2026-07-28 has.
const (
	goodMeta   = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	goodParams = `"name":"echo_echo","arguments":{"text":"a"},` + goodMeta
)

var (
	repetition = regexp.MustCompile(`\$\((.*?)\*(\d+)\)`)
	anyByte    = regexp.MustCompile(`\\x[0-9a-f]{2}`)
)

func malformed(t *testing.T) (corpus []wrong) {
	t.Helper()
	raw, err := os.ReadFile("testdata/malformed/envelopes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(string(raw), "\n"), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		part := strings.SplitN(line, " | ", 5)
		if len(part) == 4 {
			part = append(part, "")
			part[3] = strings.TrimSuffix(part[3], " |")
		}
		body := strings.NewReplacer("$M", goodMeta, "$A", goodParams).Replace(part[4])
		body = repetition.ReplaceAllStringFunc(body, func(s string) string {
			of := repetition.FindStringSubmatch(s)
			n, err := strconv.Atoi(of[2])
			if err != nil {
				t.Fatal(err)
			}
			return strings.Repeat(of[1], n)
		})
		body = anyByte.ReplaceAllStringFunc(body, func(s string) string {
			n, err := strconv.ParseUint(s[2:], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			return string([]byte{byte(n)})
		})
		corpus = append(corpus, wrong{part[0], part[1], part[2], strings.Fields(part[3]), body})
	}
	if len(corpus) < 80 {
		t.Fatalf("the corpus has %d lines", len(corpus))
	}
	return corpus
}

// outcome is what the corpus says of an answer.
func outcome(raw []byte) string {
	var m struct {
		JSONRPC string
		ID      json.RawMessage
		Error   json.RawMessage
		Result  *struct {
			IsError bool
			Meta    map[string]any `json:"_meta"`
		}
	}
	raw = bytes.TrimPrefix(raw, []byte("event: message\ndata: ")) // to who wants to hear of logs
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Sprintf("not JSON: %q", raw)
	}
	var e struct {
		Code    int
		Message string
	}
	switch {
	case json.Unmarshal(m.Error, &e) == nil && m.JSONRPC == "2.0" && e.Message != "" && m.ID != nil && !strings.Contains(e.Message, "jsonrpc2."):
		return strconv.Itoa(e.Code)
	case m.JSONRPC == "" && m.Error != nil:
		return strings.Trim(string(m.Error), `"`)
	case m.Result != nil && m.Result.IsError:
		return fmt.Sprint(m.Result.Meta["toolwharf/error_kind"])
	case m.Result != nil:
		return "ok"
	default:
		return fmt.Sprintf("no answer of JSON-RPC: %s", raw)
	}
}

// wire is one connection, on which requests are written by hand.
type wire struct {
	h *host
	c net.Conn
	r *bufio.Reader
}

// headersOf are those of a line.
func headersOf(t *testing.T, w wrong) map[string]string {
	t.Helper()
	headers := map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
	for i, h := range w.headers {
		name, value, set := strings.Cut(h, "=")
		gone, is := strings.CutPrefix(h, "-")
		switch {
		case i > 0 && is:
			delete(headers, gone)
		case i > 0 && set:
			headers[name] = strings.ReplaceAll(value, ";", "; ")
		case h == "modern":
			headers["MCP-Protocol-Version"], headers["Mcp-Method"], headers["Mcp-Name"] = "2026-07-28", "tools/call", "echo_echo"
		case h == "legacy":
			headers["MCP-Protocol-Version"] = "2025-06-18"
		case h != "none":
			t.Fatalf("headers: %s", h)
		}
	}
	return headers
}

// post writes a request, and says what came back.
func (c *wire) post(t *testing.T, headers map[string]string, body string) string {
	t.Helper()
	if c.c == nil {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.h.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		c.c, c.r = conn, bufio.NewReader(conn)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "POST /mcp HTTP/1.1\r\nHost: %s\r\n", strings.TrimPrefix(c.h.base, "http://"))
	for name, value := range headers {
		fmt.Fprintf(&b, "%s: %s\r\n", name, value)
	}
	if headers["Transfer-Encoding"] == "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	if err := c.c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	written := make(chan struct{})
	go func() { // who answers early may not read all of it
		defer close(written)
		_, _ = io.WriteString(c.c, b.String()+"\r\n"+body)
	}()
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	said := strconv.Itoa(resp.StatusCode)
	if len(raw) > 0 {
		said += " " + outcome(raw)
	}
	if resp.Close {
		_ = c.c.Close()
		c.c = nil
		said += " close"
	}
	<-written
	return said
}

func TestAMalformedRequestOverHTTPHasACleanErrorAndCostsNothingElse(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	c := &wire{h: serve(t, dir)}
	t.Cleanup(func() {
		if c.c != nil {
			_ = c.c.Close()
		}
	})
	good := wrong{headers: []string{"modern"}}
	for _, w := range malformed(t) {
		t.Run(w.name, func(t *testing.T) {
			if got := c.post(t, headersOf(t, w), w.body); got != w.http {
				t.Errorf("%s, not %s", got, w.http)
			}
			if got := c.post(t, headersOf(t, good), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+goodParams+`}}`); got != "200 ok" {
				t.Errorf("the next call: %s", got)
			}
		})
	}
}

func TestAMalformedLineOverStdioHasACleanErrorAndCostsNothingElse(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	s := speak(t, dir)
	for i, w := range malformed(t) {
		if w.stdio == "-" {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			// A good call follows at once: when it is answered, so is what was before it.
			id := strconv.Itoa(1000 + i)
			good := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{` + goodParams + `}}`
			if _, err := io.WriteString(s.in, w.body+"\n"); err != nil {
				t.Fatal(err)
			}
			got := "nothing"
			if w.stdio != "nothing" {
				got = outcome([]byte(s.next(t)))
			}
			if got != w.stdio {
				t.Errorf("%s, not %s", got, w.stdio)
			}
			if _, err := io.WriteString(s.in, good+"\n"); err != nil {
				t.Fatal(err)
			}
			if line := s.next(t); outcome([]byte(line)) != "ok" || !strings.Contains(line, id) {
				t.Errorf("the next call: %s", line)
			}
		})
	}
}

func (s *speaker) next(t *testing.T) string {
	t.Helper()
	select {
	case line, open := <-s.lines:
		if !open {
			t.Fatal("the host ended")
		}
		return line
	case <-time.After(patience):
		t.Fatal("no answer")
		return ""
	}
}
