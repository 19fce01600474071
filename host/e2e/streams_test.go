// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// listens opens a listen stream, and returns what the host has granted and what is
// closed when the stream ends.
func (h *host) listens(t *testing.T, with headers, notifications string) (granted string, ended <-chan struct{}) {
	t.Helper()
	headers, body := modern(1, "subscriptions/listen", "", `"notifications":{`+notifications+`}`)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range headers {
		r.Header.Set(k, v)
	}
	resp, err := with.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	events := bufio.NewReader(resp.Body)
	for !strings.HasPrefix(granted, "data:") || !strings.Contains(granted, "acknowledged") {
		granted, err = events.ReadString('\n')
		if errors.Is(err, io.EOF) && resp.StatusCode == http.StatusOK { // its end was there before it was
			granted = ""
			break
		}
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %q, %v", resp.Status, granted, err)
		}
	}
	end := make(chan struct{})
	go func() {
		defer close(end)
		_, _ = io.Copy(io.Discard, events)
	}()
	return granted, end
}

// stream is a listen stream of somebody who hears of tools.
func (h *host) stream(t *testing.T, with headers) (ended <-chan struct{}) {
	t.Helper()
	_, ended = h.listens(t, with, `"toolsListChanged":true`)
	return ended
}

// ends waits for the end of a stream.
func ends(t *testing.T, what string, ended <-chan struct{}) {
	t.Helper()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatalf("the stream of %s is still open", what)
	}
}

// open fails the test if a stream has ended.
func open(t *testing.T, what string, ended <-chan struct{}) {
	t.Helper()
	select {
	case <-ended:
		t.Errorf("the stream of %s has ended", what)
	default:
	}
}

func TestAListenStreamEndsWithTheTokenOfItsCaller(t *testing.T) {
	t.Parallel()
	p := provide(t, "127.0.0.1:0")
	h := guarding(t, p.issuer, "")
	until := func(seconds int64) headers {
		now := time.Now().Unix()
		return bearer(p.signed("", map[string]any{"iss": p.issuer, "aud": "toolwharf", "sub": "ada", "client_id": "desk", "iat": now, "exp": now + seconds}))
	}
	long := h.stream(t, until(600))
	ends(t, "a token of two seconds", h.stream(t, until(2)))
	open(t, "a token of ten minutes", long)
}

func TestAListenStreamEndsWhenTheIssuerNoLongerKnowsItsToken(t *testing.T) {
	t.Parallel()
	p := provide(t, "127.0.0.1:0")
	dir, plugins := workspace(t, fmt.Sprintf("http: {listen: %q, auth: {issuer: %q, audience: toolwharf, introspection: "+
		"{url: %q, client_id: host, client_secret: \"${file:secret}\", cache: 1s}}}\n", freePort(t), p.issuer, p.issuer+"/oauth/introspect"))
	install(t, "echo", plugins)
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := serve(t, dir)
	asked := func() int {
		resp, err := http.Get(p.issuer + "/test/asked")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		raw, _ := io.ReadAll(resp.Body)
		n, err := strconv.Atoi(string(raw))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	endless, ending := h.stream(t, bearer(p.token("opaque-endless"))), h.stream(t, bearer(p.token("opaque-desk")))
	before := asked()
	eventually(t, "both are asked about again, and again", func() error {
		if now := asked(); now < before+4 {
			return fmt.Errorf("asked %d times, then %d", before, now)
		}
		return nil
	})
	open(t, "a token without an end", endless)
	open(t, "a token with an end", ending)
	p.post("/test/revoke", "", "text/plain", http.NoBody)
	ends(t, "a revoked token without an end", endless)
	ends(t, "a revoked token with an end", ending)

	// Nobody is taken for known whom nobody can be asked about.
	last := h.stream(t, bearer(p.token("opaque-endless")))
	p.stop()
	ends(t, "a token whose issuer is away", last)
}

func TestAFixedTokenIsGoodUntilARestartWithoutIt(t *testing.T) {
	t.Parallel()
	desk, shop := newToken(t, "--client-id", "desk"), newToken(t, "--client-id", "shop")
	dir, plugins := workspace(t, fmt.Sprintf("http: {listen: %q, auth: {tokens: [%s, %s]}}\n", freePort(t), desk.entry(), shop.entry()))
	install(t, "echo", plugins)
	h := serve(t, dir)
	stream := h.stream(t, desk.header())
	h.rewrite(replaces(desk.entry()+", ", ""))
	if row := h.reloads(1); row.Code != "restart_needed" || !strings.Contains(row.Detail, "http.auth.tokens") {
		t.Errorf("recorded as %+v", row)
	}
	open(t, "a token that the running host knows", stream)
	h.stop()
	ends(t, "a host that has ended", stream)
	h = serve(t, dir)
	if status, _, code, _ := h.refusal(t, h.url, desk.header()); status != http.StatusUnauthorized {
		t.Errorf("the removed token: %d %s", status, code)
	}
	if status, _, code, _ := h.refusal(t, h.url, shop.header()); status != http.StatusOK {
		t.Errorf("the other: %d %s", status, code)
	}
}
