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
	toolwharf.AddFunc(p, "append_call", appendCall, toolwharf.Additive(),
		toolwharf.Description("Append the text and the id of this call to that file."))
}

type appendIn struct {
	Line string      `json:"line"`
	N    json.Number `json:"n" jsonschema:"a number; its digits are kept"`
}

func appendLine(_ context.Context, in appendIn) (struct{}, error) {
	return struct{}{}, appendToFile("%s %s\n", in.Line, in.N)
}

type appendCallIn struct {
	Text string `json:"text"`
}

func appendCall(ctx context.Context, in appendCallIn) (appendCallIn, error) {
	return in, appendToFile("%s %s\n", in.Text, toolwharf.CallInfo(ctx).ID)
}

func appendToFile(format string, args ...any) error {
	path := os.Getenv("ECHO_FILE")
	if path == "" {
		return toolwharf.ToolError("no_file", "ECHO_FILE is not set")
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	_, err = fmt.Fprintf(f, format, args...)
	return errors.Join(err, f.Sync(), f.Close())
}
