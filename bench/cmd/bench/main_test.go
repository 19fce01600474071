// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/bench/internal/proc"
	"github.com/toolwharf/toolwharf/bench/internal/report"
	"github.com/toolwharf/toolwharf/bench/internal/server"
)

func TestMain(m *testing.M) {
	server.ServeStockIfAsked() // StartStock starts this test binary
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		serveAsHost(os.Args)
	}
	if slices.Contains(os.Args, "--port") {
		serveAsPeer(os.Args)
	}
	os.Exit(m.Run())
}

func TestTheStockServerAgainstItself(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.json")
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"-self", "-rounds", "1", "-slice", "300ms", "-json", file}, &out, &errs)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, &errs)
	}
	for _, want := range []string{"| clients | server | calls/s |", "| 1 | stock Go SDK", "| 8 | stock Go SDK", "| 64 | stock Go SDK", "round by round"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got report.Report
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Pairs) != 1 || len(got.Pairs[0].Levels) != 3 {
		t.Fatalf("not one pair of three levels: %s", raw)
	}
	for _, l := range got.Pairs[0].Levels {
		if l.Baseline.Calls == 0 || l.Subject.Calls == 0 || l.Ratios.PerSecond.Median <= 0 {
			t.Errorf("with %d clients: %+v", l.Clients, l)
		}
	}
	if tree := proc.Tree(os.Getpid()); len(tree) > 1 {
		t.Errorf("left behind: %v", tree[1:])
	}
}

func TestAMistakeInTheFlagsIsExit2(t *testing.T) {
	tests := map[string][]string{
		"an argument too many":  {"echo"},
		"no rounds":             {"-rounds", "0"},
		"a slice without end":   {"-slice", "1h"},
		"clients that are none": {"-clients", "1,0"},
		"no such sandbox":       {"-sandboxes", "auto,on"},
		"only peers, and none":  {"-only-peers"},
		"PostgreSQL, no peers":  {"-postgres"},
		"an unknown flag":       {"-fast"},
	}
	for name, args := range tests {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := run(t.Context(), args, &out, &errs); code != exitUsage || errs.Len() == 0 {
				t.Errorf("exit %d, stderr %q", code, &errs)
			}
		})
	}
}

func TestAMissingBinaryIsExit1AndLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for _, args := range [][]string{
		{"-host", "no/such/host", "-plugin-dir", "no/such/dir"},
		{"-host", "no/such/host", "-plugin-dir", fakePlugins(t)},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, &out, &errs); code != exitFault || !strings.Contains(errs.String(), "no/such") {
			t.Errorf("%v: exit %d, stderr %q", args, code, &errs)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if tree := proc.Tree(os.Getpid()); len(tree) > 1 {
		t.Errorf("left behind: %v", tree[1:])
	}
}

func fakePlugins(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, executable("echo")), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
