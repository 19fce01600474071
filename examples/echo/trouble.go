// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/toolwharf/toolwharf/sdk/go"
)

func addTrouble(p *toolwharf.Plugin[toolwharf.None]) {
	toolwharf.AddFunc(p, "sleep", sleep, toolwharf.ReadOnly(),
		toolwharf.Description("Wait that many milliseconds; heeds cancellation and deadlines, reports progress."))
	toolwharf.AddFunc(p, "crash", crash, toolwharf.Additive(), toolwharf.Confirm(false),
		toolwharf.Description("End the process with exit code 3, in the middle of the call."))
	toolwharf.AddFunc(p, "panic", panics, toolwharf.ReadOnly(),
		toolwharf.Description("Panic; the process lives."))
	toolwharf.AddFunc(p, "fail", fail, toolwharf.ReadOnly(),
		toolwharf.Description("Fail with that error."))
}

type sleepIn struct {
	MS int `json:"ms" jsonschema:"milliseconds" min:"0" max:"3600000"`
}

type sleepOut struct {
	SleptMS int64 `json:"slept_ms"`
}

func sleep(ctx context.Context, in sleepIn) (sleepOut, error) {
	toolwharf.Log(ctx).Info("sleep begins", "ms", in.MS)
	begin, total := time.Now(), float64(in.MS)
	end := time.NewTimer(time.Duration(in.MS) * time.Millisecond)
	defer end.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return sleepOut{}, ctx.Err()
		case <-tick.C:
			toolwharf.Progress(ctx, float64(time.Since(begin).Milliseconds()), total, "sleeping")
		case <-end.C:
			return sleepOut{SleptMS: time.Since(begin).Milliseconds()}, nil
		}
	}
}

func crash(context.Context, struct{}) (struct{}, error) {
	os.Exit(3)
	return struct{}{}, nil
}

func panics(context.Context, struct{}) (struct{}, error) { panic("asked to") }

type failIn struct {
	Kind string `json:"kind" enum:"args_invalid,denied,tool_error,tool_failed,timeout,cancelled,rate_limited,result_too_large" default:"tool_error"`
	Code string `json:"code,omitempty" jsonschema:"stable code for programs"`
	Text string `json:"text,omitempty" jsonschema:"for the model"`

	Detail       string `json:"detail,omitempty" jsonschema:"for the operator"`
	RetryAfterMS int    `json:"retry_after_ms,omitempty" min:"0"`
}

func fail(_ context.Context, in failIn) (struct{}, error) {
	e := &toolwharf.Error{
		Kind: toolwharf.Kind(in.Kind), Code: in.Code, Text: in.Text,
		RetryAfter: time.Duration(in.RetryAfterMS) * time.Millisecond,
	}
	if in.Detail != "" {
		e = e.Because(errors.New(in.Detail))
	}
	return struct{}{}, e
}
