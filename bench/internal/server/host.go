// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// HostTool is the public name of the echo plugin's tool.
const HostTool = "echo_echo"

// StartHost starts the toolwharf binary with a configuration, a state directory
// and a plugin directory of its own. The latter holds nothing but a copy of the
// echo plugin, of which there are so many adapters: the first is called as the
// plugin is. All of them have one sandbox; "": what the host does by itself.
func StartHost(ctx context.Context, binary, plugin string, adapters int, sandbox string) (*Server, error) {
	if sandbox != "" {
		sandbox = ", sandbox: " + sandbox
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  echo: {plugin: echo%s}\n", sandbox)
	for i := 2; i <= adapters; i++ {
		fmt.Fprintf(&b, "  berth%d: {plugin: echo, prefix: berth%d.%s}\n", i, i, sandbox)
	}
	return startHost(ctx, binary, plugin, b.String())
}

// SQLTool is the public name of the tool query of the host that StartSQL starts.
const SQLTool = "shop_query"

// StartSQL is StartHost with the sql plugin, for one adapter that may read the
// orders of the database of this DSN and nothing else. All but that is as it comes.
func StartSQL(ctx context.Context, binary, plugin, dsn string) (*Server, error) {
	return startHost(ctx, binary, plugin, fmt.Sprintf("  shop: {plugin: sql, config: {dsn: %q, allowed_tables: [orders]}}\n", dsn))
}

// startHost starts a host with a copy of this plugin and these adapters.
func startHost(ctx context.Context, binary, plugin, adapters string) (*Server, error) {
	// The host runs in a directory of its own.
	binary, err := filepath.Abs(binary)
	if err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "toolwharf-bench-")
	if err != nil {
		return nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	config, err := furnish(dir, plugin, address, adapters)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	cmd := exec.Command(binary, "serve", "-c", config)
	cmd.Dir = dir
	s, err := launch(cmd)
	if err != nil {
		return nil, errors.Join(err, remove())
	}
	s.Address, s.Path = address, "/mcp"
	s.clean = remove
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(s.Fault(fmt.Errorf("%s serve: %w", binary, err)), s.Stop())
	}
	return s, nil
}

// furnish puts plugin and configuration into dir and returns the path of the
// latter.
func furnish(dir, plugin, address, adapters string) (string, error) {
	plugins := filepath.Join(dir, "plugins")
	if err := os.Mkdir(plugins, 0o700); err != nil {
		return "", err
	}
	if err := copyExecutable(filepath.Join(plugins, filepath.Base(plugin)), plugin); err != nil {
		return "", err
	}
	// %q writes what YAML reads as a double-quoted scalar.
	text := fmt.Sprintf("http: {listen: %q}\nstate: %q\nplugins: {dirs: [%q], builtin: false}\nadapters:\n%s",
		address, filepath.Join(dir, "state"), plugins, adapters)
	config := filepath.Join(dir, "toolwharf.yaml")
	return config, os.WriteFile(config, []byte(text), 0o600)
}

func copyExecutable(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("plugin: %w", err)
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700) //nolint:gosec // it is to be executed
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	// A host waits a moment with what was written just now: it may be half of it.
	// Users' plugins have lain there for long.
	old := time.Now().Add(-time.Hour)
	return errors.Join(err, dst.Close(), os.Chtimes(to, old, old))
}

// freeAddress is an address that was free a moment ago. Nothing better is to be
// had for a program that is told its port.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// awaitReady asks /readyz until it says 200.
func (s *Server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	state := "nothing yet"
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Address+"/readyz", nil)
		if err != nil {
			return err
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close() // only the status matters
			if res.StatusCode == http.StatusOK {
				return nil
			}
			state = res.Status
		}
		select {
		case <-s.ended:
			return errors.New("it ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w; /readyz last said: %s", context.Cause(ctx), state)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
