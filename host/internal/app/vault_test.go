//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
)

func TestAStateDirectoryThatOthersCanWriteIsRefusedAndOneThatTheyCanEnterNamed(t *testing.T) {
	for mode, want := range map[os.FileMode]struct{ refused, warned bool }{
		0o700: {}, 0o500: {}, 0o750: {warned: true}, 0o755: {warned: true}, 0o770: {refused: true}, 0o777: {refused: true}, 0o702: {refused: true},
	} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		err := checkState(dir, hclog.New(&hclog.LoggerOptions{Output: &log}))
		if (err != nil) != want.refused || strings.Contains(log.String(), "can be entered by others") != want.warned {
			t.Errorf("%04o: %v, %q", mode, err, &log)
		}
		if err != nil && !strings.Contains(err.Error(), "chmod 700") {
			t.Errorf("%04o: %v does not say what to do", mode, err)
		}
	}
}
