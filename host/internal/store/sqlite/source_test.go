// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
)

func TestWhatIsDoneToTheFileIsFound(t *testing.T) {
	for _, sql := range []string{
		"UPDATE ledger SET detail = 'nothing' WHERE seq = 3",
		"UPDATE ledger SET gate = '' WHERE seq = 3",
		"UPDATE ledger SET late = 1 WHERE seq = 3",
		"UPDATE ledger SET late = 2 WHERE seq = 3",
		"UPDATE ledger SET ended = ended + 1 WHERE seq = 3",
		"UPDATE ledger SET spec = x'00' WHERE seq = 3",
		"UPDATE ledger SET asked = zeroblob(32) WHERE seq = 3",
		"UPDATE ledger SET tool = CAST(tool AS BLOB) WHERE seq = 3",
		"UPDATE ledger SET host = 'host_X' WHERE seq = 3",
		"UPDATE ledger SET hash = NULL, chain_n = NULL WHERE seq = 3",
		"DELETE FROM ledger WHERE seq = 3",
		"DELETE FROM ledger WHERE seq = 10",
		"DELETE FROM ledger WHERE seq >= 9; UPDATE heads SET n = 8",
		"UPDATE ledger SET seq = -3 WHERE seq = 3; UPDATE ledger SET seq = 3 WHERE seq = 4; UPDATE ledger SET seq = 4 WHERE seq = -3",
		"DELETE FROM heads",
		"DELETE FROM ledger; DELETE FROM heads",
		"UPDATE checkpoints SET n = 4",
	} {
		t.Run(sql, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			s := open(t, path, Options{Signer: testSigner(), Checkpoint: 5})
			for i := range 10 {
				rec := benchRecord(i < 9)
				rec.Call = fmt.Sprint("call_", i)
				check(t, s.End(t.Context(), rec))
			}
			if r := verify(t, s); !r.OK() || r.Checkpoints == 0 {
				t.Fatalf("report %+v", r)
			}
			check(t, execute(path, sql))
			if r := verify(t, s); r.OK() {
				t.Errorf("nothing was found: %+v", r)
			}
		})
	}
}
