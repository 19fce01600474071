// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Bounds of what is asked of an issuer.
const (
	askTime   = 10 * time.Second
	maxAnswer = 512 << 10
	maxHeader = 64 << 10
	// maxAsking is how much is asked of one issuer at once.
	maxAsking = 16
)

// CheckURL says why a URL cannot be asked about tokens; nil: it can. What it
// answers decides who is let in, so nobody on the way may change that.
func CheckURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return errors.New("is no URL")
	case u.Hostname() == "" || u.Opaque != "":
		return errors.New("names no host")
	case u.User != nil:
		return errors.New("must not hold a user or a password")
	case u.Fragment != "" || strings.HasSuffix(raw, "#"):
		return errors.New("must not have a fragment")
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	default:
		return errors.New("must be https: whoever is on the way could say who is let in (http is for loopback addresses)")
	}
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// newClient asks an issuer. It is not sent elsewhere: a redirect is followed to
// the same scheme, host and port only.
func newClient() *http.Client {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: maxHeader,
		TLSHandshakeTimeout: askTime, IdleConnTimeout: time.Minute, MaxConnsPerHost: maxAsking,
	}
	return &http.Client{Transport: transport, Timeout: askTime, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		from := via[0].URL
		if r.URL.Scheme != from.Scheme || r.URL.Host != from.Host || len(via) > 3 {
			return errors.New("it redirects elsewhere, which is not followed")
		}
		return nil
	}}
}

// ask returns the JSON that a request is answered with.
func ask(c *http.Client, r *http.Request) ([]byte, error) {
	r.Header.Set("Accept", "application/json")
	resp, err := c.Do(r) //nolint:gosec // the operator's URL, or one that the issuer there names
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok { // which repeats the URL
			err = inner.Err
		}
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case resp.StatusCode != http.StatusOK:
		return nil, &statusError{resp.StatusCode}
	case err != nil:
		return nil, err
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "text/html" {
		return nil, errors.New("the answer is a web page")
	}
	return body, nil
}

// get fetches JSON.
func get(ctx context.Context, c *http.Client, from string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return nil, err
	}
	return ask(c, r)
}

// statusError is an answer that is none.
type statusError struct{ status int }

func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("it answers %d %s", e.status, http.StatusText(e.status)))
}
