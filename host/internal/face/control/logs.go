// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// maxLines are asked for at once.
const maxLines = 1000

// serveLogs serves an adapter's log, a JSON object a line, until the reader has
// enough, or ending is done.
func serveLogs(api API, ending context.Context) http.HandlerFunc { //nolint:revive // it is not this function's context
	return func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		n, err := strconv.Atoi(q.Get("n"))
		if err != nil || n < 0 || n > maxLines {
			answerError(w, fmt.Errorf("n is how many lines, at most %d", maxLines))
			return
		}
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ending, cancel)()
		out := json.NewEncoder(w)
		for line, err := range api.Logs(ctx, r.PathValue("name"), n, q.Get("follow") == "true") {
			if err != nil { // before the first line
				answerError(w, err)
				return
			}
			w.Header().Set("Content-Type", "application/x-ndjson")
			if out.Encode(line) != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
		}
	}
}

// Logs are the lines of an adapter's log.
func (c *Client) Logs(ctx context.Context, name string, n int, follow bool) iter.Seq2[LogLine, error] {
	return func(yield func(LogLine, error) bool) {
		if isOtherPath(name) {
			yield(LogLine{}, &NotFoundError{"adapter", name})
			return
		}
		q := url.Values{"n": {strconv.Itoa(n)}, "follow": {strconv.FormatBool(follow)}}
		resp, err := c.do(ctx, http.MethodGet, "/v1/adapters/"+url.PathEscape(name)+"/logs?"+q.Encode(), nil)
		if err != nil {
			yield(LogLine{}, err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		for lines := json.NewDecoder(resp.Body); ; {
			var line LogLine
			err := lines.Decode(&line)
			switch {
			case errors.Is(err, io.EOF) && !follow:
				return
			case errors.Is(err, io.EOF):
				err = fmt.Errorf("%w any more", ErrNoHost)
			case err != nil:
				err = fmt.Errorf("host at %s: %w", c.path, err)
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}
