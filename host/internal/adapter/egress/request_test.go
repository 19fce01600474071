// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

func TestRequestsThatAreUnderstood(t *testing.T) {
	for _, head := range []string{
		"CONNECT db.example:5432 HTTP/1.1\r\nHost: db.example:5432\r\n\r\n",
		"CONNECT db.example:5432 HTTP/1.1\r\nhOST:DB.example.:5432 \r\nUser-Agent: me (it's)\r\nX:\r\n\r\n",
		"CONNECT DB.EXAMPLE:5432 HTTP/1.1\r\nProxy-Connection: keep-alive\r\nHost:\tdb.example:5432\r\n\r\n",
	} {
		if to, refused := parseHead([]byte(head)); refused != nil || to.String() != "db.example:5432" {
			t.Errorf("%q: %s, %v", head, to, refused)
		}
	}
}

func TestRequestsThatAreNot(t *testing.T) {
	const host = "Host: a.example:1\r\n"
	for head, want := range map[string]string{
		"GET / HTTP/1.1\r\n" + host:                                                  "405 only CONNECT",
		"connect a.example:1 HTTP/1.1\r\n" + host:                                    "405 only CONNECT",
		"GET http://a.example:1/ HTTP/1.1\r\n" + host:                                "405 only CONNECT",
		"CONNECT a.example:1 HTTP/1.0\r\n" + host:                                    "400 not HTTP/1.1",
		"CONNECT a.example:1 HTTP/2.0\r\n" + host:                                    "400 not HTTP/1.1",
		"CONNECT a.example:1\r\n" + host:                                             "400 not HTTP/1.1",
		"CONNECT  a.example:1 HTTP/1.1\r\n" + host:                                   "400 not HTTP/1.1",
		"CONNECT a.example:1  HTTP/1.1\r\n" + host:                                   "400 not HTTP/1.1",
		"CONNECT a.example:1 HTTP/1.1 \r\n" + host:                                   "400 not HTTP/1.1",
		" CONNECT a.example:1 HTTP/1.1\r\n" + host:                                   "400 not a request",
		"CONNECT\ta.example:1 HTTP/1.1\r\n" + host:                                   "400 not a request",
		"\r\nCONNECT a.example:1 HTTP/1.1\r\n" + host:                                "400 not a request",
		"CONNECT a.example HTTP/1.1\r\nHost: a.example\r\n":                          "400 what to connect to: not host:port",
		"CONNECT http://a.example:1/ HTTP/1.1\r\n" + host:                            "400 what to connect to",
		"CONNECT a@a.example:1 HTTP/1.1\r\nHost: a@a.example:1\r\n":                  "400 what to connect to",
		"CONNECT a.example:1 HTTP/1.1\r\n":                                           "400 Host is needed, once",
		"CONNECT a.example:1 HTTP/1.1\r\n" + host + host:                             "400 Host is needed, once",
		"CONNECT a.example:1 HTTP/1.1\r\nHost: b.example:1\r\n":                      "400 Host differs",
		"CONNECT a.example:1 HTTP/1.1\r\nHost: a.example\r\n":                        "400 Host differs",
		"CONNECT a.example:1 HTTP/1.1\r\n" + host + " folded\r\n":                    "400 a line of the head is no field",
		"CONNECT a.example:1 HTTP/1.1\r\nHost : a.example:1\r\n":                     "400 a line of the head is no field",
		"CONNECT a.example:1 HTTP/1.1\r\n" + host + "nothing\r\n":                    "400 a line of the head is no field",
		"CONNECT a.example:1 HTTP/1.1\r\n" + host + ":\r\n":                          "400 a line of the head is no field",
		"CONNECT a.example:1 HTTP/1.1\r\n" + host + "Content-Length: 1\r\n":          "400 CONNECT has no body",
		"CONNECT a.example:1 HTTP/1.1\r\n" + host + "transfer-encoding: chunked\r\n": "400 CONNECT has no body",
		"CONNECT a.example:1 HTTP/1.1\n" + host:                                      "400 the request has characters",
		"CONNECT a.example:1 HTTP/1.1\r\n" + host + "X: a\rb\r\n":                    "400 the request has characters",
		"CONNECT a.example:1 HTTP/1.1\r\n" + host + "X: a\x00b\r\n":                  "400 the request has characters",
		"CONNECT bücher.example:1 HTTP/1.1\r\nHost: bücher.example:1\r\n":            "400 the request has characters",
		"\x16\x03\x01\x02\x00\x01\r\n":                                               "400 the request has characters",
		"\r\n":                                                                       "400 not a request",
	} {
		_, refused := parseHead([]byte(head + "\r\n"))
		if refused == nil {
			t.Errorf("%q is understood", head)
			continue
		}
		answer, err := http.ReadResponse(bufio.NewReader(strings.NewReader(refused.answer())), nil)
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		_, _ = said.ReadFrom(answer.Body)
		_ = answer.Body.Close()
		if got := answer.Status[:4] + said.String(); !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%q: %q, want %q", head, got, want)
		}
	}
}

func TestAHeadEndsWithItsEmptyLine(t *testing.T) {
	const head = "CONNECT a.example:1 HTTP/1.1\r\nHost: a.example:1\r\n\r\n"
	got, early, err := readHead(strings.NewReader(head + "early\r\n\r\n"))
	if err != nil || string(got) != head || string(early) != "early\r\n\r\n" {
		t.Errorf("%q, %q, %v", got, early, err)
	}
	got, early, err = readHead(iotest.OneByteReader(strings.NewReader(head + "early")))
	if err != nil || string(got) != head || len(early) != 0 {
		t.Errorf("byte by byte: %q, %q, %v", got, early, err)
	}
	longest := strings.Repeat("x", maxHead-4) + "\r\n\r\n"
	if got, _, err = readHead(iotest.DataErrReader(strings.NewReader(longest))); err != nil || len(got) != maxHead {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if _, _, err = readHead(strings.NewReader("x" + longest)); !errors.Is(err, errLongHead) {
		t.Errorf("one byte more: %v", err)
	}
	if _, _, err = readHead(strings.NewReader(head[:len(head)-1])); err == nil {
		t.Error("one without an end is one")
	}
}

// What is understood here, net/http understands in the same way: no two readings of
// one request.
func FuzzHead(f *testing.F) {
	f.Add([]byte("CONNECT a.example:1 HTTP/1.1\r\nHost: a.example:1\r\nX: y\r\n\r\nearly"))
	f.Add([]byte("CONNECT [::1]:1 HTTP/1.1\r\nHost:[::1]:1\r\n\r\n"))
	f.Add([]byte("GET / HTTP/1.1\r\nHost: a\r\n\r\n"))
	f.Add(bytes.Repeat([]byte("x"), maxHead+1))
	f.Fuzz(func(t *testing.T, raw []byte) {
		head, early, err := readHead(bytes.NewReader(raw))
		if err != nil {
			return
		}
		if !bytes.HasPrefix(raw, append(bytes.Clone(head), early...)) || len(head)+len(early) > maxHead {
			t.Fatalf("%q and %q of %q", head, early, raw)
		}
		to, refused := parseHead(head)
		if refused != nil {
			if strings.ContainsAny(refused.why, "\r\n") || len(refused.why) > 500 {
				t.Errorf("the reason %q", refused.why)
			}
			return
		}
		req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(head)))
		if err != nil {
			t.Fatalf("%q: net/http says %v", head, err)
		}
		same, err := parseTarget(req.URL.Host)
		if err != nil || same != to || req.Method != http.MethodConnect || req.ContentLength != 0 || len(req.TransferEncoding) > 0 {
			t.Errorf("%q: net/http reads %s %s, we read %s", head, req.Method, req.URL.Host, to)
		}
	})
}
