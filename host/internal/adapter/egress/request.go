// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxHead bounds a request, in bytes.
const maxHead = 8 << 10

// refusal is what a request is answered when there is no connection.
type refusal struct {
	status int
	why    string // one line, for the adapter
	detail string // for the operator only
}

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status: status, why: fmt.Sprintf(format, args...)}
}

func (r *refusal) answer() string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
		r.status, http.StatusText(r.status), len(r.why)+1, r.why)
}

// accepted is what it is answered when there is one.
const accepted = "HTTP/1.1 200 OK\r\n\r\n"

var errLongHead = errors.New("the head of the request is too long")

// readHead reads up to and with the empty line, and returns apart what came behind it:
// some clients do not wait for the answer.
func readHead(r io.Reader) (head, early []byte, err error) {
	buf := make([]byte, maxHead)
	for n := 0; n < maxHead; {
		more, err := r.Read(buf[n:])
		from := max(0, n-3)
		n += more
		if end := bytes.Index(buf[from:n], []byte("\r\n\r\n")); end >= 0 {
			end += from + 4
			return buf[:end], buf[end:n], nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, errLongHead
}

// parseHead reads a head: CONNECT to host:port and the same Host, HTTP/1.1, no body.
// Other fields say nothing here.
func parseHead(head []byte) (target, *refusal) {
	bad := func(why string) (target, *refusal) { return target{}, refuse(http.StatusBadRequest, "%s", why) }
	text, ok := strings.CutSuffix(string(head), "\r\n\r\n")
	if !ok {
		return bad("the head of the request has no end")
	}
	lines := strings.Split(text, "\r\n")
	for _, line := range lines {
		if strings.ContainsFunc(line, func(r rune) bool { return (r < ' ' && r != '\t') || r > '~' }) {
			return bad("the request has characters that are not printable ASCII")
		}
	}
	method, rest, _ := strings.Cut(lines[0], " ")
	authority, version, _ := strings.Cut(rest, " ")
	switch {
	case !isToken(method):
		return bad("not a request")
	case method != http.MethodConnect:
		return target{}, refuse(http.StatusMethodNotAllowed, "only CONNECT is served here")
	case version != "HTTP/1.1":
		return bad("not HTTP/1.1")
	}
	to, err := parseTarget(authority)
	if err != nil {
		return bad("what to connect to: " + err.Error())
	}
	hosts := 0
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isToken(name) {
			return bad("a line of the head is no field")
		}
		switch strings.ToLower(name) {
		case "host":
			hosts++
			if same, err := parseTarget(strings.Trim(value, " \t")); err != nil || same != to {
				return bad("Host differs from what to connect to")
			}
		case "content-length", "transfer-encoding":
			return bad("CONNECT has no body")
		}
	}
	if hosts != 1 {
		return bad("Host is needed, once")
	}
	return to, nil
}

// isToken reports whether s is one (RFC 9110, 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", r)
	})
}
