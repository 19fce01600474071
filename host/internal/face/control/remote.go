// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// ErrUnreachable is a host elsewhere that does not answer.
var ErrUnreachable = errors.New("cannot be reached")

// Remote are the approvals of a host elsewhere, over its HTTP.
type Remote struct {
	base, token string
	http        *http.Client
}

// remoteTime bounds one request.
const remoteTime = 30 * time.Second

// NewRemote returns the approvals of a host at a URL, which may have a path before
// /v1. token is an operator's.
func NewRemote(at, token string) (*Remote, error) {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, errors.New("it is a URL such as https://tools.example.com")
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if local := u.Hostname() == "localhost" || err == nil && addr.Unmap().IsLoopback(); u.Scheme == "http" && !local {
		return nil, errors.New("it has to be https beyond this machine: the token would be read on the way")
	}
	return &Remote{strings.TrimSuffix(u.String(), "/"), token, &http.Client{
		Timeout: remoteTime,
		// It would take the token elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Approvals lists approvals, newest first.
func (r *Remote) Approvals(ctx context.Context, status string) ([]Approval, error) {
	all := []Approval{}
	for cursor := ""; ; {
		q := url.Values{}
		for key, value := range map[string]string{"status": status, "cursor": cursor} {
			if value != "" {
				q.Set(key, value)
			}
		}
		var page struct {
			Approvals []Approval `json:"approvals"`
			Next      string     `json:"next_cursor"`
		}
		if err := r.ask(ctx, http.MethodGet, "?"+q.Encode(), nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Approvals...)
		if cursor = page.Next; cursor == "" || len(all) >= maxListed {
			return all, nil
		}
	}
}

// Approval returns one approval.
func (r *Remote) Approval(ctx context.Context, id string) (*Approval, error) {
	return r.one(ctx, http.MethodGet, id, nil)
}

// Decide decides an approval as the bearer of the token.
func (r *Remote) Decide(ctx context.Context, id string, d Decision) (*Approval, error) {
	body, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("decision: %w", err)
	}
	return r.one(ctx, http.MethodPost, id, body)
}

func (r *Remote) one(ctx context.Context, method, id string, body []byte) (*Approval, error) {
	if !tool.IsID(tool.PrefixApproval, id) { // could be another path
		return nil, &NotFoundError{"approval", id}
	}
	var a Approval
	err := r.ask(ctx, method, "/"+id, body, &a)
	if errors.Is(err, errAbsent) {
		return nil, &NotFoundError{"approval", id}
	}
	if err != nil {
		return nil, err
	}
	return &a, nil
}

var errAbsent = errors.New("there is no such approval")

// ask sends a request about approvals and reads the answer into v.
func (r *Remote) ask(ctx context.Context, method, path string, body []byte, v any) error {
	q, err := http.NewRequestWithContext(ctx, method, r.base+"/v1/approvals"+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("host %s: %w", r.base, err)
	}
	q.Header.Set("Authorization", "Bearer "+r.token)
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	resp, err := r.http.Do(q)
	if err != nil {
		return fmt.Errorf("host %s %w: %w", r.base, ErrUnreachable, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("host %s: %w", r.base, err)
	}
	if resp.StatusCode == http.StatusOK {
		if err := json.Unmarshal(raw, v); err != nil {
			return fmt.Errorf("host %s: its answer is no JSON of a host's: %w", r.base, err)
		}
		return nil
	}
	var said struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	switch known := json.Unmarshal(raw, &said) == nil && said.Error != ""; {
	case known && said.Error == "not-found" && path[0] == '/':
		return errAbsent
	case known:
		return fmt.Errorf("host %s: %s", r.base, said.Message)
	default:
		return fmt.Errorf("host %s answered %s", r.base, resp.Status)
	}
}
