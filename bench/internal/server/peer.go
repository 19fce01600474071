// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Names of the peers' tools.
const (
	ToolboxTool = "order_by_id"
	DBHubTool   = "execute_sql"
)

// StartToolbox starts MCP Toolbox with a source of this YAML and one tool of this
// type with this statement. Its log of each request is off: it would cost it a
// write, and this program a read.
func (p Peers) StartToolbox(ctx context.Context, source, tool, statement string) (*Server, error) {
	config := fmt.Sprintf(`kind: source
name: shop
%s
---
kind: tool
name: %s
type: %s
source: shop
description: One order.
statement: %q
parameters:
  - {name: id, type: integer, description: The order's id.}
`, source, ToolboxTool, tool, statement)
	return startPeer(ctx, "tools.yaml", config, func(config, port string) *exec.Cmd {
		return exec.Command(p.Toolbox, "--config", config, "--address", loopback, "--port", port,
			"--log-level", "WARN", "--disable-version-check", "--disable-reload")
	})
}

// StartDBHub starts dbhub for the database of this DSN, for reading only.
func (p Peers) StartDBHub(ctx context.Context, dsn string) (*Server, error) {
	config := fmt.Sprintf(`[[sources]]
id = "shop"
dsn = %q

[[tools]]
name = %q
source = "shop"
readonly = true
max_rows = 100
`, dsn, DBHubTool)
	return startPeer(ctx, "dbhub.toml", config, func(config, port string) *exec.Cmd {
		return exec.Command(p.Node, p.DBHub, "--transport", "http", "--host", loopback, "--port", port, "--config", config)
	})
}

const loopback = "127.0.0.1"

// startPeer starts what command makes of a configuration file, in a directory of
// its own and with nothing of this program's environment, and waits until it
// listens.
func startPeer(ctx context.Context, name, config string, command func(config, port string) *exec.Cmd) (*Server, error) {
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "toolwharf-bench-")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, errors.Join(err, remove())
	}
	cmd := command(file, port)
	cmd.Dir = dir
	cmd.Env = []string{"HOME=" + dir, "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
	s, err := launch(cmd)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	s.Address, s.Path, s.clean = address, "/mcp", remove
	if err := s.awaitListening(ctx); err != nil {
		return nil, errors.Join(s.Fault(fmt.Errorf("%s: %w", cmd.Args[0], err)), s.Stop())
	}
	return s, nil
}

// awaitListening connects until it can.
func (s *Server) awaitListening(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var d net.Dialer
	for {
		conn, err := d.DialContext(ctx, "tcp", s.Address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-s.ended:
			return errors.New("it ended before it listened")
		case <-ctx.Done():
			return fmt.Errorf("not listening: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
