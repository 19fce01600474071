// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

type stream = grpc.ServerStreamingServer[pluginv1.CallToolResponse]

// slow is how many calls of that tool run.
var slow atomic.Int32

// acts are what the tools do before the result is sent; one that returns done
// has sent what takes its place.
var acts = map[string]func(*pluginv1.CallToolRequest, stream) (done bool, err error){
	// token gives back its text, and nothing else.
	"token": func(*pluginv1.CallToolRequest, stream) (bool, error) { return false, nil },
	// trace gives back the trace context that it was told.
	"trace": func(_ *pluginv1.CallToolRequest, s stream) (bool, error) {
		told, _ := metadata.FromIncomingContext(s.Context())
		return true, s.Send(result(strings.Join(told.Get("traceparent"), " ")))
	},
	// slow takes half a second; slow_runs says whether one does.
	"slow": func(*pluginv1.CallToolRequest, stream) (bool, error) {
		slow.Add(1)
		time.Sleep(time.Second / 2)
		slow.Add(-1)
		return false, nil
	},
	"slow_runs": func(_ *pluginv1.CallToolRequest, s stream) (bool, error) {
		if slow.Load() == 0 {
			return true, s.Send(result("no"))
		}
		return true, s.Send(result("yes"))
	},
	// hang heeds nothing.
	"hang": func(*pluginv1.CallToolRequest, stream) (bool, error) { select {} },
	// forever never comes to an end of its progress.
	"forever": func(_ *pluginv1.CallToolRequest, s stream) (bool, error) {
		for n := 0; ; n++ {
			if err := s.Send(progress(n)); err != nil {
				return true, err
			}
		}
	},
	"progress": func(_ *pluginv1.CallToolRequest, s stream) (bool, error) {
		for n := range 20_000 {
			if err := s.Send(progress(n)); err != nil {
				return true, err
			}
		}
		return false, nil
	},
	"log": func(_ *pluginv1.CallToolRequest, s stream) (bool, error) {
		data := quoted(8 * mib)
		for range 16 {
			m := &pluginv1.CallToolResponse_Log{Log: &pluginv1.LogMessage{Level: pluginv1.LogLevel_LOG_LEVEL_ERROR, Data: data}}
			if err := s.Send(&pluginv1.CallToolResponse{Message: m}); err != nil {
				return true, err
			}
		}
		return false, nil
	},
	// parts never comes to an end of its result.
	"parts": func(_ *pluginv1.CallToolRequest, s stream) (bool, error) {
		part := &pluginv1.ResultPart{Part: &pluginv1.ResultPart_Content{Content: text("x")}}
		for {
			if err := s.Send(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Part{Part: part}}); err != nil {
				return true, err
			}
		}
	},
	// dust is a result of seven million blocks of nothing.
	"dust": func(_ *pluginv1.CallToolRequest, s stream) (bool, error) {
		return true, s.SendMsg(&raw{bytes: append([]byte{0x22}, sized(pairs(0x0a, 0x00, 7*mib))...)})
	},
	"status": func(*pluginv1.CallToolRequest, stream) (bool, error) {
		return true, status.Error(codes.Internal, strings.Repeat("x", 8*mib))
	},
	"error": func(_ *pluginv1.CallToolRequest, s stream) (bool, error) {
		e := &pluginv1.CallError{Kind: pluginv1.ErrorKind_ERROR_KIND_TOOL_ERROR, Text: strings.Repeat("x", 7*mib), Detail: strings.Repeat("y", 7*mib)}
		return true, s.Send(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Error{Error: e}})
	},
	"protocol_error": func(_ *pluginv1.CallToolRequest, s stream) (bool, error) {
		data := quoted(14 * mib)
		e := &pluginv1.ProtocolError{Code: 1, Message: "m", Data: data}
		return true, s.Send(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_ProtocolError{ProtocolError: e}})
	},
	"questions": func(_ *pluginv1.CallToolRequest, s stream) (bool, error) {
		q := &pluginv1.InputRequired{Requests: map[string]*pluginv1.InputRequest{}, State: []byte(strings.Repeat("x", 8*mib))}
		for i := range 100_000 {
			q.Requests[fmt.Sprint(i)] = &pluginv1.InputRequest{Method: "elicitation/create", Params: []byte(`{"message":"?"}`)}
		}
		return true, s.Send(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_InputRequired{InputRequired: q}})
	},
	"state": func(_ *pluginv1.CallToolRequest, s stream) (bool, error) {
		q := &pluginv1.InputRequired{State: []byte(strings.Repeat("x", 14*mib))}
		return true, s.Send(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_InputRequired{InputRequired: q}})
	},
	// twice answers twice: the second time, if it could, another call.
	"twice": func(r *pluginv1.CallToolRequest, s stream) (bool, error) {
		for _, t := range []string{said(r), "the answer to another call"} {
			if err := s.Send(result(t)); err != nil {
				return true, err
			}
		}
		return true, nil
	},
	// intrude tries what its text says, and answers what came of it.
	"intrude": func(r *pluginv1.CallToolRequest, s stream) (bool, error) {
		words := strings.Fields(said(r))
		outcome := "it worked"
		if err := attempt(words[0], words[1:]); err != nil {
			outcome = err.Error()
		}
		return true, s.Send(result(outcome))
	},
	"nothing": func(*pluginv1.CallToolRequest, stream) (bool, error) { return true, nil },
}

func tools() (out []*pluginv1.Tool) {
	for name := range acts {
		out = append(out, tool(name, `{"type":"object","properties":{"text":{"type":"string"}}}`))
	}
	return out
}

func (p *plugin) CallTool(r *pluginv1.CallToolRequest, s stream) error {
	act := acts[r.GetTool()]
	if act == nil {
		return s.Send(result("a tool that came and went"))
	}
	done, err := act(r, s)
	if done || err != nil {
		return err
	}
	return s.Send(result(said(r)))
}

func said(r *pluginv1.CallToolRequest) string {
	var args struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(r.GetArguments(), &args)
	return args.Text
}

// quoted is a JSON text of that many bytes.
func quoted(bytes int) []byte { return fmt.Appendf(nil, "%q", strings.Repeat("x", bytes)) }

func text(s string) *pluginv1.Content {
	return &pluginv1.Content{Block: &pluginv1.Content_Text{Text: &pluginv1.TextContent{Text: s}}}
}

func result(s string) *pluginv1.CallToolResponse {
	r := &pluginv1.ToolResult{Content: []*pluginv1.Content{text(s)}}
	return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Result{Result: r}}
}

func progress(n int) *pluginv1.CallToolResponse {
	p := &pluginv1.Progress{Progress: float64(n), Message: strings.Repeat("progress ", 100)}
	return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Progress{Progress: p}}
}
