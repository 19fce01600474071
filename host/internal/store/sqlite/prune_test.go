// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"crypto/ed25519"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestAPrunedLedgerVerifiesAndWhatIsPrunedTwiceIsRefused(t *testing.T) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	signer := ledger.NewSigner(private)
	trust := ledger.Trust{Keys: ledger.NewVerifier(signer.Public())}
	s := open(t, filepath.Join(t.TempDir(), "t.db"), Options{Signer: signer, Checkpoint: 5})
	begun := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 20 {
		at := begun.Add(time.Duration(i) * time.Hour)
		err := s.End(t.Context(), executor.Record{Row: ledger.Row{
			Started: at, Ended: at, Call: fmt.Sprintf("call_%d", i), Run: "run_1", Principal: "stdio/local/ann",
			Op: tool.OpTool, Tool: "orders_get", Adapter: "orders", Effects: tool.ReadOnly, Outcome: ledger.OK,
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	removed, err := ledger.Prune(t.Context(), s, ledger.Retention{
		Before: begun.Add(12 * time.Hour), By: "operator/ann", Signer: signer, Trust: trust,
	})
	if err != nil || removed == 0 || removed > 12 {
		t.Fatalf("removed %d rows: %v", removed, err)
	}
	var left int64
	for row, err := range s.Rows(t.Context(), ledger.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Seq <= removed {
			t.Errorf("row %d is still there", row.Seq)
		}
		left++
	}
	if left != 20-removed {
		t.Errorf("%d rows are left of 20 less %d", left, removed)
	}
	report, err := ledger.Verify(t.Context(), s, trust)
	if err != nil || !report.OK() {
		t.Errorf("verify: %+v, %v", report, err)
	}
	cuts, err := s.Cuts(t.Context())
	if err != nil || len(cuts) != 1 || cuts[0].Seq != removed || cuts[0].By != "operator/ann" {
		t.Fatalf("cuts %+v, %v", cuts, err)
	}
	if err := s.Prune(t.Context(), cuts[0]); err == nil {
		t.Error("the same cut was made twice")
	}
}
