// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"

	"github.com/toolwharf/toolwharf/bench/internal/duel"
	"github.com/toolwharf/toolwharf/bench/internal/server"
	"github.com/toolwharf/toolwharf/bench/internal/shop"
)

// match is one database behind Toolwharf and behind each of the peers.
type match struct {
	name    string // of its work
	subject duel.Contender
	peers   []duel.Contender
}

// pairs are Toolwharf against each peer.
func (m match) pairs() []duel.Pair {
	pairs := make([]duel.Pair, len(m.peers))
	for i, peer := range m.peers {
		pairs[i] = duel.Pair{Name: m.name + ": " + peer.Name, Baseline: peer, Subject: m.subject}
	}
	return pairs
}

// contenders are all of them.
func (m match) contenders() []duel.Contender { return append([]duel.Contender{m.subject}, m.peers...) }

// matches are the comparisons with peers, and what ends the databases that were
// started for them; none, and a word about it, where there
// are no peers. It is an error if there is nothing else to measure, or if the shop is missing.
func (o *options) matches(ctx context.Context, stderr io.Writer) (_ []match, end func() error, err error) {
	end = func() error { return nil }
	if o.peers == "" || o.self {
		return nil, end, nil
	}
	peers, err := server.FindPeers(o.peers)
	if err != nil && o.onlyPeers {
		return nil, end, err
	}
	if err != nil {
		fmt.Fprintf(stderr, "bench: LEFT OUT: MCP Toolbox and dbhub are not compared with: %v\n", err)
		fmt.Fprintf(stderr, "bench: npm ci installs them, from bench/peers; make bench does that where npm is\n")
		return nil, end, nil
	}
	file, err := filepath.Abs(o.shop)
	if err != nil {
		return nil, end, err
	}
	orders, err := shop.Read(file)
	if err != nil {
		return nil, end, err
	}
	matches := []match{o.sqlite(peers, file, orders)}
	if !o.postgres {
		return matches, end, nil
	}
	db, err := server.StartPostgres(ctx, orders.Script(server.PostgresRole))
	if err != nil {
		return nil, end, err
	}
	return append(matches, o.overPostgres(peers, db.Address, orders)), db.Stop, nil
}

// The names in reports.
const (
	subjectName = "toolwharf, sql plugin"
	toolboxName = "MCP Toolbox"
	dbhubName   = "dbhub"
)

func (o *options) sqlite(peers server.Peers, file string, orders shop.Orders) match {
	return match{
		name: "A row of SQLite",
		subject: duel.Contender{
			Name: subjectName, Tool: orders.Query(server.SQLTool, "?"),
			Start: func(ctx context.Context) (*server.Server, error) {
				return server.StartSQL(ctx, o.host, o.sql, "sqlite:"+file)
			},
		},
		peers: []duel.Contender{
			{
				Name: toolboxName, Tool: orders.Fixed(server.ToolboxTool),
				Start: func(ctx context.Context) (*server.Server, error) {
					return peers.StartToolbox(ctx, fmt.Sprintf("type: sqlite\ndatabase: %q", file), "sqlite-sql", shop.Statement("?"))
				},
			},
			{
				Name: dbhubName, Tool: orders.ExecuteSQL(server.DBHubTool),
				Start: func(ctx context.Context) (*server.Server, error) {
					return peers.StartDBHub(ctx, "sqlite://"+file)
				},
			},
		},
	}
}

func (o *options) overPostgres(peers server.Peers, address string, orders shop.Orders) match {
	dsn := fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", server.PostgresRole, address, server.PostgresDatabase)
	return match{
		name: "A row of PostgreSQL",
		subject: duel.Contender{
			Name: subjectName, Tool: orders.Query(server.SQLTool, "$1"),
			Start: func(ctx context.Context) (*server.Server, error) {
				return server.StartSQL(ctx, o.host, o.sql, dsn)
			},
		},
		peers: []duel.Contender{
			{
				Name: toolboxName, Tool: orders.Fixed(server.ToolboxTool),
				Start: func(ctx context.Context) (*server.Server, error) {
					host, port, err := net.SplitHostPort(address)
					if err != nil {
						return nil, err
					}
					source := fmt.Sprintf("type: postgres\nhost: %s\nport: %q\ndatabase: %s\nuser: %s\npassword: none",
						host, port, server.PostgresDatabase, server.PostgresRole)
					return peers.StartToolbox(ctx, source, "postgres-sql", shop.Statement("$1"))
				},
			},
			{
				Name: dbhubName, Tool: orders.ExecuteSQL(server.DBHubTool),
				Start: func(ctx context.Context) (*server.Server, error) { return peers.StartDBHub(ctx, dsn) },
			},
		},
	}
}
