// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync/atomic"

	"github.com/toolwharf/toolwharf/sdk/go"
)

func addEcho(p *toolwharf.Plugin[toolwharf.None]) {
	toolwharf.AddFunc(p, "echo", echo, toolwharf.ReadOnly(),
		toolwharf.Description("Return the text."),
		toolwharf.InputSchema(json.RawMessage(
			`{"type":"object","properties":{"text":{"type":"string","description":"what is returned"}},`+
				`"required":["text"],"additionalProperties":false}`)))
	toolwharf.AddFunc(p, "numbers", numbers, toolwharf.ReadOnly(),
		toolwharf.Description("Return the value, every digit as it came."))
	toolwharf.AddFunc(p, "notify", notify, toolwharf.ReadOnly(),
		toolwharf.Description("Send the data to the client as a log message of that level, then end."))
	toolwharf.AddFunc(p, "count", new(counter).count, toolwharf.ReadOnly(),
		toolwharf.Description("Return the process id and how often this tool was called in this process."))
	toolwharf.AddFunc(p, "big", big, toolwharf.ReadOnly(),
		toolwharf.Description("Return a text of that many bytes, as structured content."))
}

// echo is as quick as a tool can be: the benchmark measures what is around it.
func echo(_ context.Context, args json.RawMessage) (toolwharf.Result, error) {
	var in struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return toolwharf.Result{}, toolwharf.Invalid("", err.Error())
	}
	return toolwharf.TextResult(in.Text), nil
}

type numbersIn struct {
	Value any `json:"value" jsonschema:"any JSON value"`
}

type numbersOut struct {
	Value any `json:"value"`
}

func numbers(_ context.Context, in numbersIn) (numbersOut, error) { return numbersOut(in), nil }

type notifyIn struct {
	Level string `json:"level" enum:"debug,info,notice,warning,error,critical,alert,emergency" default:"info"`
	Data  any    `json:"data" jsonschema:"any JSON value"`
}

func notify(ctx context.Context, in notifyIn) (struct{}, error) {
	toolwharf.Notify(ctx, toolwharf.Level(in.Level), in.Data)
	return struct{}{}, nil
}

type counter struct{ calls atomic.Int64 }

type countOut struct {
	PID   int   `json:"pid"`
	Calls int64 `json:"calls" jsonschema:"calls of this tool so far, with this one"`
}

func (c *counter) count(context.Context, struct{}) (countOut, error) {
	return countOut{PID: os.Getpid(), Calls: c.calls.Add(1)}, nil
}

type bigIn struct {
	Bytes int `json:"bytes" min:"0" max:"1073741824"`
}

type bigOut struct {
	Text string `json:"text"`
}

func big(_ context.Context, in bigIn) (bigOut, error) {
	return bigOut{Text: strings.Repeat("x", in.Bytes)}, nil
}
