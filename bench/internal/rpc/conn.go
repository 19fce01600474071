// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rpc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// callTimeout is far beyond what any call takes; it ends a run against a server
// that has stopped to answer.
const callTimeout = 20 * time.Second

// Conn is one client: one connection, kept alive, one call at a time. A Conn that
// has returned an error is not used again.
type Conn struct {
	nc   net.Conn
	in   *bufio.Reader
	req  *request
	out  []byte
	body bytes.Buffer
	text []byte
}

// Dial connects a client of one tool to the MCP endpoint at address and path.
func Dial(ctx context.Context, address, path string, tool Tool) (*Conn, error) {
	d := net.Dialer{Timeout: callTimeout}
	nc, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &Conn{nc: nc, in: bufio.NewReader(nc), req: newRequest(address, path, tool)}, nil
}

// Close ends the connection.
func (c *Conn) Close() error { return c.nc.Close() }

// Call makes the call of this id and verifies the reply.
func (c *Conn) Call(id int64) error {
	if err := c.nc.SetDeadline(time.Now().Add(callTimeout)); err != nil {
		return err
	}
	c.out = c.req.append(c.out[:0], id)
	if _, err := c.nc.Write(c.out); err != nil {
		return err
	}
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return fmt.Errorf("no response: %w", err)
	}
	c.body.Reset()
	_, err = c.body.ReadFrom(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return fmt.Errorf("response broken off: %w", err)
	}
	switch kind := res.Header.Get("Content-Type"); {
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("status %d: %.300q", res.StatusCode, c.body.Bytes())
	case !strings.HasPrefix(kind, "application/json"):
		return fmt.Errorf("reply is %q, not JSON", kind)
	case res.Close:
		return errors.New("the server closes the connection after a call")
	}
	c.text = c.req.tool.Text(c.text[:0], id)
	return verify(c.body.Bytes(), id, c.text, c.req.tool.Within)
}
