// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// telling is a plugin's part that tells what a call has told it.
type telling struct {
	pluginv1.UnimplementedToolServiceServer
}

func (telling) CallTool(r *pluginv1.CallToolRequest, stream grpc.ServerStreamingServer[pluginv1.CallToolResponse]) error {
	md, _ := metadata.FromIncomingContext(stream.Context())
	var told []string
	for _, key := range []string{"traceparent", "tracestate", "baggage"} {
		told = append(told, strings.Join(md.Get(key), "+"))
	}
	told = append(told, r.GetContext().GetPrincipal())
	return stream.Send(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Result{Result: &pluginv1.ToolResult{
		Content: []*pluginv1.Content{{Block: &pluginv1.Content_Text{Text: &pluginv1.TextContent{Text: strings.Join(told, " ")}}}},
	}}})
}

func TestAPluginIsToldOfTheTraceAndOfTheCallerOnlyIfThatIsConfigured(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for passes, want := range map[bool]string{
		false: parent + " a=b u=1 ",
		true:  parent + " a=b u=1 stdio/local/ann",
	} {
		d := acting(t, "telling what it is told")
		d.PassPrincipal = passes
		in := newHarness(t).started(d)
		a := attempt(t, "tell", `{}`)
		call := *a.Call
		call.Principal = tool.Principal{Kind: tool.Stdio, Subject: "ann"}
		call.Trace = tool.Trace{Parent: parent, State: "a=b", Baggage: "u=1"}
		a.Call = &call
		if got := result(t, in, a).Content[0].(*tool.Text).Text; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
		call.Trace = tool.Trace{}
		if got := result(t, in, a).Content[0].(*tool.Text).Text; strings.Contains(got, "00-") {
			t.Errorf("told %q of no trace", got)
		}
	}
}
