// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

var update = flag.Bool("update", false, "write the golden files")

func rows() []ledger.Row {
	arrived := time.Date(2026, 10, 3, 14, 34, 56, 123456789, time.FixedZone("", 7200))
	return []ledger.Row{
		{
			Seq: 1, Host: "host_A", Call: "call_A", Run: "run_A", Attempt: 1,
			Started: arrived, Ended: arrived.Add(12340 * time.Microsecond),
			Principal: "stdio/local/ann", Op: tool.OpTool, Tool: "orders_query", Adapter: "orders",
			Effects: tool.ReadOnly, Spec: tool.DigestOf([]byte("spec")), Args: tool.DigestOf([]byte("{}")),
			Outcome: ledger.OK, ResultBytes: 1234, Cost: "0.10", Client: "claude-code 2.0", Protocol: "2026-07-28",
		},
		{
			Seq: 123456, Host: "host_A", Call: "call_B", Started: arrived, Ended: arrived.Add(90 * time.Second),
			Principal: `["c","https://issuer.example","s"]`, Op: tool.OpTool, Tool: "shop_refund", Adapter: "shop",
			Effects: tool.Destructive, Outcome: ledger.Unknown, Kind: tool.OutcomeUnknown, Code: "adapter_died",
			Detail: "EOF", Ran: tool.RanUnknown, Attempt: 1,
		},
		{
			Seq: 3, Host: "host_A", Call: "call_C", Started: arrived, Ended: arrived.Add(37 * time.Microsecond),
			Principal: "anonymous", Op: tool.OpTool,
			Tool:    "x\x1b[2J\nok by root \u202e\u009b\x00\xff\"\\é\u6f22\U000e0001",
			Outcome: ledger.Refused, Kind: tool.Denied, Code: "unknown_tool", Gate: "find",
			Detail: "two\r\nlines\u2028and more", Client: "a=b run=run_X",
		},
		{Outcome: ledger.Pending},
		{
			Seq: 4, Host: "host_A", Call: "call_D", Run: "run_A", Started: arrived, Ended: arrived.Add(time.Second),
			Principal: "operator/ann", Op: ledger.OpDecision, Tool: "shop_refund", Adapter: "shop",
			Effects: tool.Destructive, Asked: tool.DigestOf([]byte("{}")), Args: tool.DigestOf([]byte("[]")),
			Approval: "apr_A", DecidedBy: "operator/ann", Late: true, Outcome: ledger.Approved,
		},
		{
			Seq: 5, Host: "host_A", Call: "reload_A", Started: arrived, Ended: arrived.Add(time.Millisecond),
			Principal: "operator/ann", Op: ledger.OpReload, Args: tool.DigestOf([]byte("file")),
			Outcome: ledger.OK, Detail: "SIGHUP; changed: rules",
		},
	}
}

func TestARowIsOneLine(t *testing.T) {
	for name, form := range map[string]func(*bytes.Buffer, ledger.Row){
		"text": func(b *bytes.Buffer, r ledger.Row) {
			if err := ledger.Text(b, r, false); err != nil {
				t.Error(err)
			}
		},
		"wide": func(b *bytes.Buffer, r ledger.Row) {
			if err := ledger.Text(b, r, true); err != nil {
				t.Error(err)
			}
		},
		"jsonl": func(b *bytes.Buffer, r ledger.Row) { b.Write(append(ledger.JSON(r), '\n')) },
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			for _, r := range rows() {
				form(&got, r)
			}
			golden := filepath.Join("testdata", "rows."+name)
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Error("-want +got\n" + diff)
			}
		})
	}
}

func TestWhatATerminalMayActUponIsEscaped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		row := ledger.Row{Tool: raw, Detail: raw, Principal: raw, Client: raw, Outcome: ledger.Outcome(raw)}
		var text bytes.Buffer
		if err := ledger.Text(&text, row, true); err != nil {
			t.Fatal(err)
		}
		line, ok := strings.CutSuffix(text.String(), "\n")
		if !ok {
			t.Fatal("no line")
		}
		object := ledger.JSON(row)
		for _, s := range []string{line, string(object)} {
			if !utf8.ValidString(s) {
				t.Fatalf("%q is not UTF-8", s)
			}
			for _, r := range s {
				if !strconv.IsPrint(r) {
					t.Fatalf("%q has %q", s, r)
				}
			}
		}
		var got struct{ Tool string }
		if err := json.Unmarshal(object, &got); err != nil {
			t.Fatalf("%s: %v", object, err)
		}
		if want := strings.ToValidUTF8(raw, "\ufffd"); utf8.ValidString(raw) && got.Tool != want {
			t.Fatalf("got %q, want %q", got.Tool, want)
		}
	})
}

func TestAWriterThatFailsIsReported(t *testing.T) {
	if err := ledger.Text(full{}, ledger.Row{}, false); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
