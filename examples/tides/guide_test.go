// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The Go code of the guide is quoted from examples that are compiled and tested. What
// stands between two lines of an ellipsis is quoted by itself.
func TestTheGuideQuotesCodeThatCompiles(t *testing.T) {
	const guide = "../../docs/write-a-plugin.md"
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(data)
	}
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 10 {
		t.Errorf("%s: only %d blocks of code", guide, len(blocks))
	}
	for _, block := range blocks {
		for piece := range strings.SplitSeq(block[1], "// ...\n") {
			if !strings.Contains(code.String(), strings.TrimSpace(piece)) {
				t.Errorf("%s: this is in no example:\n%s", guide, piece)
			}
		}
	}
}
