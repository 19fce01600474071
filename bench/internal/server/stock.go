// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stockVariable in its environment makes this program the stock server.
const stockVariable = "TOOLWHARF_BENCH_STOCK_SERVER"

// StockTool is the name of the stock server's tool.
const StockTool = "echo"

// StartStock starts this program once more, as a server that is nothing but the
// official Go SDK as it comes: one process, one tool, no isolation, no rules, no
// record.
func StartStock(ctx context.Context) (*Server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), stockVariable+"=1")
	// It ends with its input, so it cannot outlive this process.
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	address, said, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer address.Close()
	cmd.Stdout = said
	s, err := launch(cmd)
	_ = said.Close() // the child has its own
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = address.SetReadDeadline(time.Now()) })()
	line, err := bufio.NewReader(address).ReadString('\n')
	if err != nil {
		return nil, errors.Join(s.Fault(fmt.Errorf("the stock server does not start: %w", err)), s.Stop())
	}
	s.Address, s.Path = strings.TrimSpace(line), "/mcp"
	return s, nil
}

// ServeStockIfAsked turns this process into the stock server if StartStock has
// started it, and then does not return.
func ServeStockIfAsked() {
	if os.Getenv(stockVariable) == "" {
		return
	}
	if err := serveStock(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench: stock server:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveStock says its address and serves until its input ends.
func serveStock(in io.Reader, out io.Writer) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, l.Addr()); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", stockHandler())
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		_ = srv.Close()
	}()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// stockHandler has one tool with the SDK's raw handler, the cheapest that it
// offers: nothing is validated, the arguments are decoded once.
func stockHandler() http.Handler {
	srv := mcp.NewServer(&mcp.Implementation{Name: "stock", Version: "1"}, nil)
	schema := json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)
	srv.AddTool(&mcp.Tool{Name: StockTool, Description: "Returns the text.", InputSchema: schema},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct {
				Text string `json:"text"`
			}
			if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil
		})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return srv },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
}
