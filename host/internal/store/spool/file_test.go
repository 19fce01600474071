// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

var update = flag.Bool("update", false, "write the golden file: old spools are not read any more")

func TestALineOfAnEarlierVersionIsRead(t *testing.T) {
	at := time.UnixMicro(1_790_000_000_000_001).UTC()
	want := line{ID: "spl_A", Row: ledger.Row{
		Host: "host_A", Started: at, Ended: at.Add(time.Microsecond), Call: "call_A", Run: "run_A", Attempt: 2,
		Principal: `["c","i","s"]`, Op: tool.OpTool, Tool: "t", Adapter: "a", Effects: tool.Destructive,
		Spec: tool.DigestOf([]byte("spec")), Args: tool.DigestOf([]byte("args")), Asked: tool.DigestOf([]byte("asked")),
		Approval: "apr_A", DecidedBy: "operator/ann", Late: true, Outcome: ledger.Failed, Gate: "g", Kind: tool.ToolFailed,
		Code: "c", Detail: "two\nlines\x00\u2028<\u6f22", Ran: tool.RanUnknown, ResultBytes: 1 << 60, Cost: "0.10",
		Client: "cl", Protocol: "p",
	}}
	golden := filepath.Join("testdata", "one.jsonl")
	if *update {
		check(t, os.RemoveAll(golden))
		_, err := appendTo(golden, marshal(t, want))
		check(t, err)
	}
	got, err := readFile(golden)
	check(t, err)
	if diff := cmp.Diff([]line{want}, got.rows); diff != "" || len(got.bad) > 0 || got.torn {
		t.Errorf("bad %q, torn %t, -want +got\n%s", got.bad, got.torn, diff)
	}
}

func TestALineAfterHalfALineIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if there, err := appendTo(path, []byte("a\n")); !there || err != nil {
		t.Errorf("%t, %v", there, err)
	}
	raw := marshal(t, line{ID: "spl_A"})
	check(t, os.WriteFile(path, raw[:9], 0o600)) // half a line
	if there, err := appendTo(path, raw); !there || err != nil {
		t.Errorf("%t, %v", there, err)
	}
	got, err := readFile(path)
	check(t, err)
	if len(got.rows) != 1 || len(got.bad) != 1 || got.torn {
		t.Errorf("got %+v", got)
	}
}

func marshal(t *testing.T, l line) []byte {
	t.Helper()
	raw, err := l.marshal()
	check(t, err)
	return raw
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
