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
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// ErrNoHost is that no host answers on a control socket of this state directory.
var ErrNoHost = errors.New("no running host")

// maxAnswer bounds what a client reads.
const maxAnswer = 64 << 20

// Client is the API of a running host.
type Client struct {
	http *http.Client
	path string
}

var _ API = (*Client)(nil)

// Dial finds the first host that answers in a state directory, and sweeps
// sockets that nobody serves any more. It returns ErrNoHost if there is none.
func Dial(state string) (*Client, error) {
	others, err := filepath.Glob(filepath.Join(escapeGlob(state), "control-*.sock"))
	if err != nil {
		return nil, fmt.Errorf("control sockets in %s: %w", state, err)
	}
	slices.Sort(others)
	for _, path := range append([]string{filepath.Join(state, socketName)}, others...) {
		answers, dead := knock(path)
		if answers {
			return &Client{path: path, http: &http.Client{Transport: &http.Transport{
				DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
					return connectTo(ctx, path)
				},
			}}}, nil
		}
		if dead {
			sweep(path)
		}
	}
	return nil, ErrNoHost
}

func escapeGlob(path string) string {
	var b []byte
	for _, c := range []byte(path) {
		switch c {
		case '*', '?', '[', '\\':
			b = append(b, '\\')
		}
		b = append(b, c)
	}
	return string(b)
}

// Host says which host this is.
func (c *Client) Host(ctx context.Context) (*Host, error) {
	return ask[*Host](ctx, c, http.MethodGet, "/v1/host", nil)
}

// Adapters says which adapters there are.
func (c *Client) Adapters(ctx context.Context) ([]Adapter, error) {
	return ask[[]Adapter](ctx, c, http.MethodGet, "/v1/adapters", nil)
}

// Restart restarts an adapter.
func (c *Client) Restart(ctx context.Context, name string) (*Adapter, error) {
	if isOtherPath(name) {
		return nil, &NotFoundError{"adapter", name}
	}
	return ask[*Adapter](ctx, c, http.MethodPost, "/v1/adapters/"+url.PathEscape(name)+"/restart", nil)
}

// isOtherPath: as a segment of a path, it would lead elsewhere.
func isOtherPath(name string) bool { return name == "" || name == "." || name == ".." }

// Tools says which tools there are.
func (c *Client) Tools(ctx context.Context) ([]Tool, error) {
	return ask[[]Tool](ctx, c, http.MethodGet, "/v1/tools", nil)
}

// Call runs a tool as the operator.
func (c *Client) Call(ctx context.Context, name string, args json.RawMessage, resume Keys) (*Answer, error) {
	q := url.Values{"run_id": {resume.Run}, "call_id": {resume.Call}}
	return about[*Answer](ctx, c, name, "call?"+q.Encode(), args)
}

// Approvals lists approvals.
func (c *Client) Approvals(ctx context.Context, status string) ([]Approval, error) {
	return ask[[]Approval](ctx, c, http.MethodGet, "/v1/approvals?"+url.Values{"status": {status}}.Encode(), nil)
}

// Approval returns one approval.
func (c *Client) Approval(ctx context.Context, id string) (*Approval, error) {
	if !tool.IsID(tool.PrefixApproval, id) { // could be another path
		return nil, &NotFoundError{"approval", id}
	}
	return ask[*Approval](ctx, c, http.MethodGet, "/v1/approvals/"+url.PathEscape(id), nil)
}

// Decide decides an approval as the operator.
func (c *Client) Decide(ctx context.Context, id string, d Decision) (*Approval, error) {
	if !tool.IsID(tool.PrefixApproval, id) {
		return nil, &NotFoundError{"approval", id}
	}
	body, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("decision: %w", err)
	}
	return ask[*Approval](ctx, c, http.MethodPost, "/v1/approvals/"+url.PathEscape(id), body)
}

// Explain asks the gates about a call.
func (c *Client) Explain(ctx context.Context, name string, args json.RawMessage, as *Caller) (*executor.Explanation, error) {
	what := "explain"
	if as != nil {
		caller, err := json.Marshal(as)
		if err != nil {
			return nil, fmt.Errorf("caller: %w", err)
		}
		what += "?" + url.Values{"as": {string(caller)}}.Encode()
	}
	return about[*executor.Explanation](ctx, c, name, what, args)
}

// about asks for something to be done with one tool.
func about[T any](ctx context.Context, c *Client, name, what string, args json.RawMessage) (T, error) {
	var none T
	if isOtherPath(name) {
		return none, &NotFoundError{"tool", name}
	}
	if len(args) > maxBody { // the host would hang up in the middle of it
		return none, fmt.Errorf("arguments are larger than %d bytes", maxBody)
	}
	return ask[T](ctx, c, http.MethodPost, "/v1/tools/"+url.PathEscape(name)+"/"+what, args)
}

func ask[T any](ctx context.Context, c *Client, method, path string, body []byte) (T, error) {
	var v T
	resp, err := c.do(ctx, method, path, body)
	if err != nil {
		return v, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil {
		return v, fmt.Errorf("host at %s: %w", c.path, err)
	}
	return v, nil
}

// do sends a request. An answer that is an error is returned as one.
func (c *Client) do(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://control"+path, bytes.NewReader(body)) //nolint:gosec // whatever it says, it goes to the socket
	if err != nil {
		return nil, fmt.Errorf("control request: %w", err)
	}
	resp, err := c.http.Do(r) //nolint:gosec // likewise
	if err != nil {
		return nil, fmt.Errorf("host at %s: %w", c.path, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("host at %s: %w", c.path, err)
	}
	var absent NotFoundError
	if resp.StatusCode == http.StatusNotFound && json.Unmarshal(raw, &absent) == nil && absent.What != "" {
		return nil, &absent
	}
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(raw, &said) == nil && said.Error != "" {
		return nil, errors.New(said.Error)
	}
	return nil, fmt.Errorf("host at %s: %s: %.256s", c.path, resp.Status, raw)
}

// arguments reads the body of a call.
func arguments(r *http.Request) (json.RawMessage, error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	if len(raw) > maxBody {
		return nil, fmt.Errorf("arguments are larger than %d bytes", maxBody)
	}
	return raw, nil
}
