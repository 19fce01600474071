// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/toolwharf/toolwharf/sdk/go"
)

// addFile adds a tool whose effect outlives the process, so that it can be
// counted from outside how often a call has run.
func addFile(p *toolwharf.Plugin[toolwharf.None]) {
	toolwharf.AddFunc(p, "append_line", appendLine, toolwharf.Additive(),
		toolwharf.Description("Append a line to the file that the environment variable ECHO_FILE names."))
}

type appendIn struct {
	Line string      `json:"line"`
	N    json.Number `json:"n" jsonschema:"a number; its digits are kept"`
}

func appendLine(_ context.Context, in appendIn) (struct{}, error) {
	path := os.Getenv("ECHO_FILE")
	if path == "" {
		return struct{}{}, toolwharf.ToolError("no_file", "ECHO_FILE is not set")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return struct{}{}, fmt.Errorf("append: %w", err)
	}
	_, err = fmt.Fprintf(f, "%s %s\n", in.Line, in.N)
	return struct{}{}, errors.Join(err, f.Sync(), f.Close())
}
