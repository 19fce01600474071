// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

func TestWhatAPluginSaysOfAFailureInTheHostsWords(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for name, tc := range map[string]struct {
		said *pluginv1.CallError
		want *tool.Error
	}{
		"to the model": {
			&pluginv1.CallError{Kind: pluginv1.ErrorKind_ERROR_KIND_TOOL_ERROR, Code: "not_found", Text: "no order 7", Detail: "row 7", Ran: pluginv1.Ran_RAN_NO},
			&tool.Error{Kind: tool.ToolError, Code: "not_found", Text: "no order 7", Detail: "row 7", Ran: tool.RanNo},
		},
		"without a text it is the kind": {
			&pluginv1.CallError{Kind: pluginv1.ErrorKind_ERROR_KIND_DENIED},
			&tool.Error{Kind: tool.Denied, Text: "denied"},
		},
		"a code that is none": {
			&pluginv1.CallError{Kind: pluginv1.ErrorKind_ERROR_KIND_TOOL_ERROR, Code: "Not Found!", Text: "x"},
			&tool.Error{Kind: tool.ToolError, Text: "x"},
		},
		"when to try again": {
			&pluginv1.CallError{Kind: pluginv1.ErrorKind_ERROR_KIND_RATE_LIMITED, Text: "x", RetryAfter: durationpb.New(1500 * time.Millisecond)},
			&tool.Error{Kind: tool.RateLimited, Text: "x", RetryAfter: 1500 * time.Millisecond},
		},
		"not before now": {
			&pluginv1.CallError{Kind: pluginv1.ErrorKind_ERROR_KIND_RATE_LIMITED, Text: "x", RetryAfter: durationpb.New(-time.Hour)},
			&tool.Error{Kind: tool.RateLimited, Text: "x"},
		},
		"it ran": {
			&pluginv1.CallError{Kind: pluginv1.ErrorKind_ERROR_KIND_TIMEOUT, Text: "x", Ran: pluginv1.Ran_RAN_YES},
			&tool.Error{Kind: tool.Timeout, Text: "x", Ran: tool.RanYes},
		},
		"it does not know whether it ran": {
			&pluginv1.CallError{Kind: pluginv1.ErrorKind_ERROR_KIND_CANCELLED, Text: "x", Ran: pluginv1.Ran_RAN_UNKNOWN},
			&tool.Error{Kind: tool.Cancelled, Text: "x", Ran: tool.RanUnknown},
		},
		"what a later version knows of it": {
			&pluginv1.CallError{Kind: pluginv1.ErrorKind_ERROR_KIND_ARGS_INVALID, Text: "x", Ran: 99},
			&tool.Error{Kind: tool.ArgsInvalid, Text: "x"},
		},
		"a fault's text is the operator's": {
			&pluginv1.CallError{Kind: pluginv1.ErrorKind_ERROR_KIND_TOOL_FAILED, Code: "database", Text: "dsn=secret", Detail: "line 3"},
			&tool.Error{Kind: tool.ToolFailed, Code: "database", Text: "tool_failed: database", Detail: "dsn=secret: line 3"},
		},
		"a fault without a class": {
			&pluginv1.CallError{Kind: pluginv1.ErrorKind_ERROR_KIND_TOOL_FAILED, Text: "boom"},
			&tool.Error{Kind: tool.ToolFailed, Code: "plugin", Text: "tool_failed: plugin", Detail: "boom"},
		},
		"no kind is a fault": {
			&pluginv1.CallError{Text: "boom"},
			&tool.Error{Kind: tool.ToolFailed, Code: "plugin", Text: "tool_failed: plugin", Detail: "boom"},
		},
		"a kind of a later version is a fault": {
			&pluginv1.CallError{Kind: 99, Code: "new_kind", Text: "boom"},
			&tool.Error{Kind: tool.ToolFailed, Code: "new_kind", Text: "tool_failed: new_kind", Detail: "boom"},
		},
		"texts are bounded": {
			&pluginv1.CallError{Kind: pluginv1.ErrorKind_ERROR_KIND_TOOL_ERROR, Text: long, Detail: long},
			&tool.Error{Kind: tool.ToolError, Text: long[:maxErrorText] + "...", Detail: long[:1024] + "..."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := moored(t, streams(said(tc.said))).Run(t.Context(), attempt(t, "get", `{}`))
			tc.want.Sent = true
			if diff := cmp.Diff(tc.want, failure(t, out, err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A gRPC status is machinery: none of it is for the model.
func TestAGRPCStatusInTheHostsWords(t *testing.T) {
	for code, want := range map[codes.Code]*tool.Error{
		codes.Unavailable:        {Kind: tool.AdapterUnavailable, Code: "adapter_unavailable", Text: "adapter orders is not available", Sent: true},
		codes.Aborted:            {Kind: tool.AdapterUnavailable, Code: "adapter_unavailable", Text: "adapter orders is not available", Sent: true},
		codes.Canceled:           {Kind: tool.AdapterUnavailable, Code: "adapter_unavailable", Text: "adapter orders is not available", Sent: true},
		codes.DeadlineExceeded:   {Kind: tool.Timeout, Code: "timeout", Text: "adapter orders did not answer in time", Sent: true},
		codes.ResourceExhausted:  {Kind: tool.ResultTooLarge, Code: "message_too_large", Text: "the answer of adapter orders is larger than one message may be; ask for less", Sent: true},
		codes.Unimplemented:      {Kind: tool.ToolFailed, Code: "not_implemented", Text: "tool_failed: not_implemented"},
		codes.Internal:           {Kind: tool.ToolFailed, Code: "plugin", Text: "tool_failed: plugin", Sent: true},
		codes.FailedPrecondition: {Kind: tool.ToolFailed, Code: "plugin", Text: "tool_failed: plugin", Sent: true},
		codes.Unknown:            {Kind: tool.ToolFailed, Code: "plugin", Text: "tool_failed: plugin", Sent: true},
	} {
		t.Run(code.String(), func(t *testing.T) {
			in := moored(t, &server{call: func(*pluginv1.CallToolRequest, grpc.ServerStreamingServer[pluginv1.CallToolResponse]) error {
				return status.Error(code, "dsn=secret")
			}})
			out, err := in.Run(t.Context(), attempt(t, "get", `{}`))
			e := failure(t, out, err)
			if diff := cmp.Diff(want, e, cmpopts.IgnoreFields(tool.Error{}, "Err")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if e.Err == nil || !strings.Contains(e.Error(), "dsn=secret") || strings.Contains(e.Text, "secret") {
				t.Errorf("the operator reads %q, the model %q", e.Error(), e.Text)
			}
		})
	}
}

func TestArgumentsThatAreLargerThanAMessageAreNotSent(t *testing.T) {
	in := moored(t, streams(only(textOf("x"))))
	out, err := in.Run(t.Context(), attempt(t, "get", `{"a":"`+strings.Repeat("x", MaxMessage)+`"}`))
	if e := failure(t, out, err); e.Kind != tool.ArgsInvalid || e.Code != "args_too_large" || e.Sent {
		t.Errorf("%+v", e)
	}
	result(t, in, attempt(t, "get", `{}`))
}

func TestAMessageThatIsTooLargeSaysSo(t *testing.T) {
	in := moored(t, streams(only(textOf(strings.Repeat("x", MaxMessage)))))
	out, err := in.Run(t.Context(), attempt(t, "get", `{}`))
	if e := failure(t, out, err); e.Kind != tool.ResultTooLarge || e.Code != "message_too_large" {
		t.Errorf("%+v", e)
	}
}

func TestAProtocolErrorIsTheCauseOfAFault(t *testing.T) {
	in := moored(t, streams(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_ProtocolError{
		ProtocolError: &pluginv1.ProtocolError{Code: -32602, Message: "no", Data: []byte(`{"a":1}`)},
	}}))
	out, err := in.Run(t.Context(), attempt(t, "get", `{}`))
	e := failure(t, out, err)
	var cause *tool.ProtocolError
	if !errors.As(err, &cause) || e.Kind != tool.ToolFailed || !e.Sent {
		t.Fatalf("%+v", e)
	}
	if diff := cmp.Diff(&tool.ProtocolError{Code: -32602, Message: "no", Data: json.RawMessage(`{"a":1}`)}, cause); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheDataOfAProtocolErrorIsBounded(t *testing.T) {
	in := moored(t, streams(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_ProtocolError{
		ProtocolError: &pluginv1.ProtocolError{Code: 1, Message: "no", Data: []byte(`"` + strings.Repeat("x", maxErrorText) + `"`)},
	}}))
	_, err := in.Run(t.Context(), attempt(t, "get", `{}`))
	var cause *tool.ProtocolError
	if !errors.As(err, &cause) || cause.Message != "no" || cause.Data != nil {
		t.Errorf("%.200v", err)
	}
}

// It ends up in the log.
func TestAGRPCStatusIsBounded(t *testing.T) {
	in := moored(t, &server{call: func(*pluginv1.CallToolRequest, grpc.ServerStreamingServer[pluginv1.CallToolResponse]) error {
		return status.Error(codes.Internal, strings.Repeat("x", 8<<20))
	}})
	out, err := in.Run(t.Context(), attempt(t, "get", `{}`))
	if e := failure(t, out, err); e.Kind != tool.ToolFailed || len(err.Error()) > 2*maxHeaders {
		t.Errorf("%s, an error of %d bytes: %.300s", e.Kind, len(err.Error()), err)
	}
}

func TestAQuestionComesAsItIs(t *testing.T) {
	in := moored(t, streams(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_InputRequired{
		InputRequired: &pluginv1.InputRequired{State: []byte("own"), Requests: map[string]*pluginv1.InputRequest{
			"q": {Method: "elicitation/create", Params: []byte(`{"message":"sure?"}`)},
		}},
	}}))
	out, err := in.Run(t.Context(), attempt(t, "get", `{}`))
	if err != nil {
		t.Fatal(err)
	}
	want := &tool.Question{State: []byte("own"), Requests: map[string]tool.InputRequest{
		"q": {Method: "elicitation/create", Params: json.RawMessage(`{"message":"sure?"}`)},
	}}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEventsArriveInOrderAndAreWhatJSONHas(t *testing.T) {
	total := 10.0
	in := moored(t, streams(
		progress(&pluginv1.Progress{Progress: 1, Total: &total, Message: "one"}),
		progress(&pluginv1.Progress{Progress: math.Inf(1)}),
		progress(&pluginv1.Progress{Progress: 2, Total: new(math.NaN()), Message: strings.Repeat("x", 2000)}),
		logged(&pluginv1.LogMessage{Level: pluginv1.LogLevel_LOG_LEVEL_ERROR, Logger: "db", Data: []byte(`"slow"`)}),
		logged(&pluginv1.LogMessage{Data: []byte(`not JSON`)}),
		logged(&pluginv1.LogMessage{Level: 99, Data: []byte(`1`)}),
		logged(&pluginv1.LogMessage{Data: []byte(`"` + strings.Repeat("x", maxLog) + `"`)}),
		finally(&pluginv1.ToolResult{}),
	))
	a := attempt(t, "get", `{}`)
	var got []tool.Event
	a.Events = func(e tool.Event) { got = append(got, e) }
	result(t, in, a)
	want := []tool.Event{
		&tool.Progress{Progress: 1, Total: &total, Message: "one"},
		&tool.Progress{Progress: 2, Message: strings.Repeat("x", 1024) + "..."},
		&tool.Log{Level: "error", Logger: "db", Data: json.RawMessage(`"slow"`)},
		&tool.Log{Level: "info", Data: json.RawMessage(`1`)},
		&tool.Log{Level: "info", Data: json.RawMessage(`"a log message of 16386 bytes was left out"`)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	a.Events = nil
	result(t, in, a)
}

func TestACallEndsTheStreamOnEveryWayOut(t *testing.T) {
	ended := make(chan struct{})
	in := moored(t, &server{call: func(_ *pluginv1.CallToolRequest, s grpc.ServerStreamingServer[pluginv1.CallToolResponse]) error {
		defer close(ended)
		if err := s.Send(finally(&pluginv1.ToolResult{})); err != nil {
			return err
		}
		<-s.Context().Done() // a plugin that does not return
		return nil
	}})
	if _, err := in.Run(t.Context(), attempt(t, "get", `{}`)); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(bound):
		t.Error("the plugin works on for nobody")
	}
}
