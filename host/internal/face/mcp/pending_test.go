// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"maps"
	"testing"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// park has every call wait for a decision until it comes back with both keys.
func park(_ context.Context, c *tool.Call) (tool.Outcome, error) {
	switch {
	case c.Run == "r1" && c.Key == "k1":
		return &tool.Result{Content: []tool.Content{&tool.Text{Text: "resumed"}}}, nil
	case !c.Resumable:
		return &tool.Pending{Approval: "apr_X"}, nil
	default:
		return &tool.Pending{Approval: "apr_X", Run: "r1", Call: "k1"}, nil
	}
}

func TestAPendingCallIsResumedByItsKeys(t *testing.T) {
	for _, transport := range []string{"http", "stdio"} {
		for _, era := range eras {
			t.Run(transport+"/"+era, func(t *testing.T) {
				eachWay(t, Config{AllowAnonymous: new(true)}, func(t *testing.T, h *host) {
					h.run = park
					s := h.connect(era, transport, nil)
					res, err := s.CallTool(t.Context(), &mcpsdk.CallToolParams{Name: "echo"})
					if err != nil {
						t.Fatal(err)
					}
					text, _ := res.Content[0].(*mcpsdk.TextContent)
					if !res.IsError || text == nil || text.Text != "approval required: apr_X" {
						t.Errorf("%+v", res)
					}
					meta := maps.Clone(res.Meta)
					delete(meta, mcpsdk.MetaKeyServerInfo)
					if !maps.Equal(meta, map[string]any{
						metaErrorKind: "approval_pending", metaApproval: "apr_X", metaRun: "r1", metaCall: "k1",
					}) {
						t.Errorf("_meta %v", meta)
					}
					res, err = s.CallTool(t.Context(), &mcpsdk.CallToolParams{
						Name: "echo", Meta: mcpsdk.Meta{metaRun: res.Meta[metaRun], metaCall: res.Meta[metaCall]},
					})
					if err != nil || res.IsError {
						t.Errorf("%+v, %v", res, err)
					}
				})
			})
		}
	}
}

func TestTheRunKeyOfAPendingCallMayComeInTheHeader(t *testing.T) {
	eachWay(t, Config{AllowAnonymous: new(true)}, func(t *testing.T, h *host) {
		h.run = park
		for _, era := range eras {
			req := body(era, methodCallTool, `"name":"echo"`, `,"toolwharf/call_id":"k1"`)
			if a := h.answer(era, req); !a.IsError {
				t.Errorf("%s: without its run: %+v", era, a)
			}
			if a := h.answer(era, req, headerRun, "r1"); a.IsError || a.text() != "resumed" {
				t.Errorf("%s: %+v", era, a)
			}
			other := body(era, methodCallTool, `"name":"echo"`, `,"toolwharf/run_id":"r2","toolwharf/call_id":"k1"`)
			if a := h.answer(era, other, headerRun, "r1"); !a.IsError {
				t.Errorf("%s: of another run: %+v", era, a)
			}
		}
	})
}

func TestWhoCannotComeBackGetsNoKeysAndResumesNothing(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		h.run = park
		for _, era := range eras {
			req := body(era, methodCallTool, `"name":"echo"`, `,"toolwharf/run_id":"r1","toolwharf/call_id":"k1"`)
			a := h.answer(era, req, headerRun, "r1")
			delete(a.Meta, mcpsdk.MetaKeyServerInfo)
			if !a.IsError || a.text() != "approval required: apr_X" || len(a.Meta) != 2 ||
				a.meta(metaErrorKind) != "approval_pending" || a.meta(metaApproval) != "apr_X" {
				t.Errorf("%s: %+v", era, a)
			}
			if want := map[bool]string{true: resultComplete, false: ""}[modern(era)]; a.ResultType != want {
				t.Errorf("%s: resultType %q", era, a.ResultType)
			}
		}
	})
}
