// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/store/sqlite"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// commands are what scripts have besides toolwharf.
func commands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		// sample DIR makes a state directory with a small ledger and its key,
		// always the same.
		"sample": func(ts *testscript.TestScript, _ bool, args []string) {
			ts.Check(sample(ts.MkAbs(args[0])))
		},
		// future DIR makes a state directory with one row that ends in 2999.
		"future": func(ts *testscript.TestScript, _ bool, args []string) {
			row := sampleRows()[0]
			row.Ended = time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
			ts.Check(store(ts.MkAbs(args[0]), row))
		},
		// forge FILE OLD NEW puts bytes in place of as many others.
		"forge": func(ts *testscript.TestScript, _ bool, args []string) {
			file, was, is := ts.MkAbs(args[0]), []byte(args[1]), []byte(args[2])
			content, err := os.ReadFile(file)
			ts.Check(err)
			if len(was) != len(is) || !bytes.Contains(content, was) {
				ts.Fatalf("%s is not in %s, or longer", was, file)
			}
			ts.Check(os.WriteFile(file, bytes.Replace(content, was, is, 1), 0o600))
		},
	}
}

func sample(dir string) error { return store(dir, sampleRows()...) }

func store(dir string, rows ...ledger.Row) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize)))
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "ledger.key")
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := os.WriteFile(path, key, 0o600); err != nil {
		return err
	}
	signer, err := ledger.LoadOrCreateSigner(path)
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "toolwharf.db"), sqlite.Options{Host: "host_SAMPLE", Signer: signer})
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := s.End(ctx, executor.Record{Row: row}); err != nil {
			return err
		}
	}
	return s.Close(ctx)
}

// sampleRows are two runs: a query and a refund that had to be approved, and a
// call that was refused.
func sampleRows() []ledger.Row {
	const ann, bot = "stdio/local/ann", `["bot","https://login.example","42"]`
	day := time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC)
	row := func(n int, run, who, name string, took time.Duration) ledger.Row {
		start := day.Add(time.Duration(n) * time.Minute)
		return ledger.Row{
			Call: fmt.Sprintf("call_SAMPLE%d", n), Run: run, Principal: who, Op: tool.OpTool, Tool: name, Adapter: "shop",
			Effects: tool.ReadOnly, Started: start, Ended: start.Add(took), Outcome: ledger.OK, Client: "claude-code",
			Protocol: "2026-07-28",
		}
	}
	query := row(1, "run_SAMPLE1", ann, "shop_query", 4200*time.Microsecond)
	query.Attempt, query.ResultBytes, query.Cost = 1, 512, "0.002"

	asked := row(2, "run_SAMPLE1", ann, "shop_refund", 900*time.Microsecond)
	asked.Effects, asked.Outcome, asked.Kind, asked.Gate = tool.Destructive, ledger.Pending, tool.ApprovalPending, "approval"
	asked.Approval = "apr_SAMPLE"

	decided := row(3, "run_SAMPLE1", "operator/eve", "shop_refund", 0)
	decided.Op, decided.Outcome, decided.Effects, decided.Call = ledger.OpDecision, ledger.Approved, tool.Destructive, asked.Call
	decided.Approval, decided.DecidedBy = "apr_SAMPLE", "operator/eve"

	done := row(4, "run_SAMPLE1", ann, "shop_refund", 31*time.Millisecond)
	done.Effects, done.Call, done.Attempt, done.ResultBytes, done.Cost = tool.Destructive, asked.Call, 1, 64, "0.01"
	done.Approval, done.DecidedBy = "apr_SAMPLE", "operator/eve"

	refused := row(5, "run_SAMPLE2", bot, "shop_delete", 300*time.Microsecond)
	refused.Effects, refused.Outcome, refused.Kind = tool.Destructive, ledger.Refused, tool.Denied
	refused.Code, refused.Gate = "denied_by_rule", "rules"
	return []ledger.Row{query, asked, decided, done, refused}
}
