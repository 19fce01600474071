// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Command demo shows a host at work. It starts `toolwharf serve` with the shop
// example, lists the tools and calls one as any MCP client would, says how to
// connect a client of your own, and serves until Ctrl-C.
//
// `make demo` builds and runs it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

const (
	address  = "127.0.0.1:8000" // the host's default
	endpoint = "http://" + address + "/mcp"
)

func main() {
	host := flag.String("host", "bin/toolwharf", "the host's `binary`")
	shop := flag.String("shop", "examples/shop", "`directory` of the shop example")
	once := flag.Bool("once", false, "end after the first call")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := demo(ctx, os.Stdout, *host, *shop, *once)
	interrupted := ctx.Err() != nil // then whatever failed did so because of that
	stop()
	if err != nil && !interrupted {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// demo runs the whole of it. It returns when once says so, the context ends or
// the host does; the host is gone then.
func demo(ctx context.Context, out io.Writer, binary, shop string, once bool) (err error) {
	binary, err = filepath.Abs(binary)
	if err != nil {
		return err
	}
	config, err := filepath.Abs(filepath.Join(shop, "toolwharf.yaml"))
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(shop, "shop.db")); err != nil {
		return fmt.Errorf("the shop has no database yet: %w; `make demo` makes it", err)
	}
	h, err := serve(ctx, binary, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.stop()) }()
	if err := tour(ctx, out); err != nil {
		return h.fault(err)
	}
	if once {
		return nil
	}
	farewell(out, binary, config)
	h.showLog(os.Stderr)
	select {
	case <-ctx.Done():
		return nil
	case <-h.ended:
		return errors.New("the host has ended")
	}
}

// farewell says how to go on. Paths are absolute: clients are set up from the
// folders of their own projects.
func farewell(out io.Writer, binary, config string) {
	fmt.Fprintf(out, `
Connect a client, from the folder of your project. It calls %[1]s;
"%[2]s connect --help" lists more of them.

  Claude Code     %[2]s connect claude-code --http -c %[3]s
  Cursor          %[2]s connect cursor --http -c %[3]s
  VS Code         %[2]s connect vscode --http -c %[3]s
  Claude Desktop  %[2]s connect claude -c %[3]s
                  (it starts a host of its own)

What was called is in the ledger:

  %[2]s ledger tail -c %[3]s

Ctrl-C ends the host.

`, endpoint, binary, config)
}
