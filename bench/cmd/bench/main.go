// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench compares a Toolwharf host and one isolated plugin with a bare MCP
// server on the stock Go SDK that does the same in process, and with -peers the sql
// plugin with other MCP servers for databases.
//
//	bench -host bin/toolwharf -plugin-dir bin/examples
//	bench -peers bin/peers -shop bin/shop.db -only-peers
//	bench -self                  the stock server with itself: how much the machine's noise is
//	bench -rounds 1 -slice 300ms a quick look
//
// It prints Markdown. It exits with 1 when it cannot measure, 2 on a mistake in
// its flags and 3 when any call failed: then there is nothing to report.
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
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/toolwharf/toolwharf/bench/internal/duel"
	"github.com/toolwharf/toolwharf/bench/internal/load"
	"github.com/toolwharf/toolwharf/bench/internal/report"
	"github.com/toolwharf/toolwharf/bench/internal/rpc"
	"github.com/toolwharf/toolwharf/bench/internal/server"
	"github.com/toolwharf/toolwharf/bench/internal/startup"
)

func main() {
	server.ServeStockIfAsked()
	// The load generator shares the machine with what it measures: let it collect
	// its garbage seldom.
	debug.SetGCPercent(400)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

const (
	exitFault  = 1
	exitUsage  = 2
	exitFailed = 3
)

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return exitUsage
	}
	if err := o.bench(ctx, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		if failed := (*load.CallError)(nil); errors.As(err, &failed) {
			return exitFailed
		}
		return exitFault
	}
	return 0
}

type options struct {
	host, pluginDir, json string
	self                  bool
	onlyPeers, postgres   bool
	peers, sql, shop      string
	sandboxes             []string
	duel                  duel.Options
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	o.duel.Clients, o.sandboxes = []int{1, 8, 64}, []string{"auto"}
	if runtime.GOOS == "linux" {
		o.sandboxes = []string{"off", "auto", "strict"}
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.host, "host", "bin/toolwharf", "the host's `binary`")
	flags.StringVar(&o.pluginDir, "plugin-dir", "bin/examples", "`directory` with the echo plugin")
	flags.StringVar(&o.peers, "peers", "", "`directory` with the peers, installed by npm ci from bench/peers; compare with them, too")
	flags.BoolVar(&o.onlyPeers, "only-peers", false, "compare with the peers only")
	flags.BoolVar(&o.postgres, "postgres", false, "compare with the peers on PostgreSQL, too: one that is started for it")
	flags.StringVar(&o.sql, "sql", "bin/plugins/"+executable("sql"), "the `binary` of the sql plugin, for -peers")
	flags.StringVar(&o.shop, "shop", "bin/shop.db", "the `file` of the database of examples/shop, for -peers")
	flags.BoolVar(&o.self, "self", false, "compare the stock server with itself instead; needs no binaries")
	flags.IntVar(&o.duel.Rounds, "rounds", 5, "slices of each server at each number of clients")
	flags.DurationVar(&o.duel.Slice, "slice", 2*time.Second, "length of a slice")
	flags.Func("clients", "numbers of clients, as a comma-separated `list` (default 1,8,64)", o.setClients)
	flags.Func("sandboxes", "sandboxes of the adapters of hosts whose start is measured, as a comma-separated `list` (default off,auto,strict; auto where there is none)", o.setSandboxes)
	flags.StringVar(&o.json, "json", "", "also write every slice to this `file`, as JSON")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case (o.onlyPeers || o.postgres) && (o.peers == "" || o.self):
		return o, errors.New("-only-peers and -postgres go with -peers, and not with -self")
	case o.duel.Rounds < 1 || o.duel.Rounds > 100:
		return o, errors.New("-rounds is from 1 to 100")
	case o.duel.Slice < 10*time.Millisecond || o.duel.Slice > time.Minute:
		return o, errors.New("-slice is from 10ms to 1m")
	}
	return o, nil
}

func (o *options) setClients(list string) error {
	o.duel.Clients = nil
	for field := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 1 || n > 10_000 {
			return fmt.Errorf("%q is not a number from 1 to 10000", field)
		}
		o.duel.Clients = append(o.duel.Clients, n)
	}
	return nil
}

func (o *options) setSandboxes(list string) error {
	o.sandboxes = strings.Split(list, ",")
	for _, s := range o.sandboxes {
		if !slices.Contains([]string{"off", "auto", "strict"}, s) {
			return fmt.Errorf("%q is not off, auto or strict", s)
		}
	}
	return nil
}

func (o *options) bench(ctx context.Context, stdout, stderr io.Writer) (err error) {
	matches, end, err := o.matches(ctx, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	var pairs []duel.Pair
	if !o.onlyPeers {
		pairs = o.pairs()
	}
	for _, m := range matches {
		pairs = append(pairs, m.pairs()...)
	}
	var results []*duel.Result
	for _, p := range pairs {
		r, err := duel.Run(ctx, p, o.duel)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	rep := report.New(o.duel.Rounds, o.duel.Slice, results)
	for _, m := range matches {
		firsts, err := startup.FirstCalls(ctx, m.contenders(), o.duel.Rounds)
		if err != nil {
			return err
		}
		rep.First = append(rep.First, report.Firsts{Name: m.name, Servers: firsts})
	}
	if !o.self && !o.onlyPeers {
		if rep.Startup, err = startup.Run(ctx, o.host, o.plugin(), o.sandboxes, o.duel.Rounds); err != nil {
			return err
		}
	}
	if o.json != "" {
		if err := rep.WriteFile(o.json); err != nil {
			return err
		}
	}
	return rep.WriteMarkdown(stdout)
}

// pairs are the comparisons of a run.
func (o *options) pairs() []duel.Pair {
	stock := duel.Contender{Name: "stock Go SDK, in process", Start: server.StartStock, Tool: rpc.Echo(server.StockTool)}
	if o.self {
		again := stock
		again.Name += " (again)"
		return []duel.Pair{{Name: "Noise: a server against itself", Baseline: stock, Subject: again}}
	}
	host := duel.Contender{
		Name: "toolwharf, isolated plugin", Tool: rpc.Echo(server.HostTool),
		Start: func(ctx context.Context) (*server.Server, error) {
			return server.StartHost(ctx, o.host, o.plugin(), 1, "")
		},
	}
	return []duel.Pair{{Name: "Echo of 16 bytes", Baseline: stock, Subject: host}}
}

func (o *options) plugin() string { return filepath.Join(o.pluginDir, executable("echo")) }

func executable(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}
