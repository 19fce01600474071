// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

func TestAPluginIsToldOfACallWhatItNeedsAndNotWhoCalls(t *testing.T) {
	whole := attempt(t, "get", `{"id": 9007199254740993}`)
	whole.N, whole.State = 2, []byte("own")
	whole.Principal = tool.Principal{Kind: tool.Stdio, Subject: "ann"}
	whole.Run, whole.Key = "the client's run", "the client's key"
	whole.Call.State = []byte("sealed")
	whole.Client = tool.Client{Protocol: "2026-07-28", Name: "desk", Capabilities: json.RawMessage(`{"roots":{}}`), LogLevel: "warning", Progress: true}
	whole.Answers = map[string]json.RawMessage{"q": json.RawMessage(`{"yes":true}`)}
	whole.Events = func(tool.Event) {}

	deaf := attempt(t, "get", `{}`)
	deaf.Client.Progress, deaf.Client.LogLevel = true, "loud" // but nobody listens, and there is no such level

	for name, tc := range map[string]struct {
		attempt *tool.Attempt
		want    *pluginv1.CallToolRequest
	}{
		"everything": {whole, &pluginv1.CallToolRequest{
			Tool: "get", Arguments: []byte(`{"id": 9007199254740993}`), State: []byte("own"),
			Answers: map[string][]byte{"q": []byte(`{"yes":true}`)},
			Context: &pluginv1.CallContext{
				CallId: "call_1", Attempt: 2, RunId: "run_1", ProtocolVersion: "2026-07-28",
				ClientCapabilities: []byte(`{"roots":{}}`), WantsProgress: true, LogLevel: pluginv1.LogLevel_LOG_LEVEL_WARNING,
			},
		}},
		"next to nothing": {deaf, &pluginv1.CallToolRequest{
			Tool: "get", Arguments: []byte(`{}`), Context: &pluginv1.CallContext{CallId: "call_1", Attempt: 1, RunId: "run_1"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var got *pluginv1.CallToolRequest
			in := moored(t, &server{call: func(r *pluginv1.CallToolRequest, s grpc.ServerStreamingServer[pluginv1.CallToolResponse]) error {
				got = r
				return s.Send(finally(&pluginv1.ToolResult{}))
			}})
			result(t, in, tc.attempt)
			if diff := cmp.Diff(tc.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestLevelsAreTheSameInBothDirections(t *testing.T) {
	for _, name := range []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"} {
		if got := level(wanted(name)); got != name {
			t.Errorf("%s came back as %s", name, got)
		}
	}
	for _, l := range []pluginv1.LogLevel{pluginv1.LogLevel_LOG_LEVEL_UNSPECIFIED, 99} {
		if got := level(l); got != "info" {
			t.Errorf("level %d is %s", l, got)
		}
	}
	if got := wanted("loud"); got != pluginv1.LogLevel_LOG_LEVEL_UNSPECIFIED {
		t.Errorf("an unknown level is %v", got)
	}
}
