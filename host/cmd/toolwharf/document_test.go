// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the commands print into the document")

// TestTheDocumentOfTheLedgerShowsWhatIsPrinted runs each command in
// docs/ledger.md that has its output below it, in the state that the document
// begins with.
func TestTheDocumentOfTheLedgerShowsWhatIsPrinted(t *testing.T) {
	file := filepath.Join("..", "..", "..", "docs", "ledger.md")
	document, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := sample(filepath.Join(dir, ".toolwharf")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "toolwharf.yaml"), []byte("name: sample\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n, printed := 0, ""
	for i, block := range strings.Split(string(document), "```console\n") {
		if i == 0 {
			printed = block
			continue
		}
		block, rest, _ := strings.Cut(block, "```")
		printed += "```console\n"
		for _, shown := range strings.Split("\n"+block, "\n$ ")[1:] {
			line, want, _ := strings.Cut(shown, "\n")
			words := strings.Fields(line)
			cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
			cmd.Dir = dir
			got, err := cmd.CombinedOutput()
			if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimSpace(want), strings.TrimSpace(string(got))); diff != "" {
				t.Errorf("$ %s\n-shown +printed\n%s", line, diff)
			}
			printed += "$ " + line + "\n" + string(got)
			n++
		}
		printed += "```" + rest
	}
	if *update {
		if err := os.WriteFile(file, []byte(printed), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n < 5 {
		t.Errorf("%d commands were found", n)
	}
}
