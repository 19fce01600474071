// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindPeersSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	wanted, err := FindPeers(dir)
	if err == nil {
		t.Fatal("finds them in an empty directory")
	}
	for i, file := range []string{wanted.Toolbox, wanted.DBHub, wanted.Node} {
		if !strings.Contains(err.Error(), file) {
			t.Errorf("with %d of them, %q does not name %s", i, err, file)
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = FindPeers(dir)
		if all := i == 2; all != (err == nil) {
			t.Fatalf("with %d of them: %v", i+1, err)
		}
	}
}
