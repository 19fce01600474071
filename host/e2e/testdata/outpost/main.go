// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Outpost is a plugin that reaches a database and a web server by the SDK's dialer,
// and whatever it is told without it.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/toolwharf/toolwharf/sdk/go"
)

type config struct {
	Database string `json:"database"`
	Web      string `json:"web"`
	CA       string `json:"ca,omitempty"`
}

type outpost struct {
	config

	client http.Client
}

func open(_ context.Context, c config) (*outpost, error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(c.CA))
	return &outpost{c, http.Client{Transport: &http.Transport{
		DialContext: toolwharf.Dialer().DialContext, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13},
	}}}, nil
}

func check(_ context.Context, c config) ([]toolwharf.Grant, error) {
	return []toolwharf.Grant{toolwharf.Connect(c.Database), toolwharf.Connect(c.Web)}, nil
}

// page gets a page by TLS.
func (o *outpost) page(ctx context.Context, _ struct{}) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+o.Web, nil)
	if err != nil {
		return "", err
	}
	resp, err := o.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// multiply lets PostgreSQL do it (its protocol 3.0, without a password).
func (o *outpost) multiply(ctx context.Context, in struct{ A, B int }) (string, error) {
	conn, err := toolwharf.Dialer().DialContext(ctx, "tcp", o.Database)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := send(conn, 0, "\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00"); err != nil {
		return "", err
	}
	row, asked := "", false
	for {
		kind, body, err := receive(conn)
		switch {
		case err != nil:
			return "", err
		case kind == 'E':
			return "", fmt.Errorf("%q", body)
		case kind == 'D': // one column, its length before it
			row = string(body[6:])
		case kind == 'Z' && asked:
			return row, nil
		case kind == 'Z':
			asked = true
			if err := send(conn, 'Q', fmt.Sprintf("SELECT %d * %d\x00", in.A, in.B)); err != nil {
				return "", err
			}
		}
	}
}

func send(w io.Writer, kind byte, body string) error {
	var b bytes.Buffer
	if kind != 0 {
		b.WriteByte(kind)
	}
	_ = binary.Write(&b, binary.BigEndian, uint32(len(body)+4))
	b.WriteString(body)
	_, err := w.Write(b.Bytes())
	return err
}

func receive(r io.Reader) (kind byte, body []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	body = make([]byte, binary.BigEndian.Uint32(head[1:])-4)
	_, err = io.ReadFull(r, body)
	return head[0], body, err
}

// dial connects without the SDK.
func (o *outpost) dial(_ context.Context, in struct{ Network, Address string }) (string, error) {
	conn, err := net.Dial(in.Network, in.Address)
	if err != nil {
		return err.Error(), nil
	}
	return "connected", conn.Close()
}

func main() {
	p := toolwharf.New(toolwharf.Info{Name: "outpost", Version: "1.0.0"}, open, toolwharf.Check(check))
	toolwharf.AddTool(p, "page", (*outpost).page, toolwharf.Description("Get the page."), toolwharf.ReadOnly())
	toolwharf.AddTool(p, "multiply", (*outpost).multiply, toolwharf.Description("Multiply."), toolwharf.ReadOnly())
	toolwharf.AddTool(p, "dial", (*outpost).dial, toolwharf.Description("Connect."), toolwharf.ReadOnly())
	p.Serve()
}
