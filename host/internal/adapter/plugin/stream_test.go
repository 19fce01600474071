// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"net"
	"testing"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// server is a plugin inside of the test: it streams what a test tells it to.
type server struct {
	pluginv1.UnimplementedPluginServiceServer
	pluginv1.UnimplementedToolServiceServer

	call  func(*pluginv1.CallToolRequest, grpc.ServerStreamingServer[pluginv1.CallToolResponse]) error
	watch func(grpc.ServerStreamingServer[pluginv1.WatchResponse]) error
}

func (s *server) CallTool(r *pluginv1.CallToolRequest, stream grpc.ServerStreamingServer[pluginv1.CallToolResponse]) error {
	return s.call(r, stream)
}

func (s *server) Watch(_ *pluginv1.WatchRequest, stream grpc.ServerStreamingServer[pluginv1.WatchResponse]) error {
	return s.watch(stream)
}

// moored is an instance whose other end is s: everything but a process.
func moored(t *testing.T, s *server) *instance {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	g := grpc.NewServer(grpc.MaxRecvMsgSize(2*MaxMessage), grpc.MaxSendMsgSize(2*MaxMessage))
	pluginv1.RegisterPluginServiceServer(g, s)
	pluginv1.RegisterToolServiceServer(g, s)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = g.Serve(l)
	}()
	opts := append(dialOptions(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	conn, err := grpc.NewClient("passthrough:plugin", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		g.Stop()
		<-served
	})
	return &instance{name: "orders", process: process.New(process.Spec{}), conn: conn, log: hclog.NewNullLogger()}
}

// streams is a plugin that answers every call with these messages.
func streams(messages ...*pluginv1.CallToolResponse) *server {
	return &server{call: func(_ *pluginv1.CallToolRequest, stream grpc.ServerStreamingServer[pluginv1.CallToolResponse]) error {
		for _, m := range messages {
			if err := stream.Send(m); err != nil {
				return err
			}
		}
		return nil
	}}
}

// The messages of a stream.

func finally(r *pluginv1.ToolResult) *pluginv1.CallToolResponse {
	return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Result{Result: r}}
}

func only(c *pluginv1.Content) *pluginv1.CallToolResponse {
	return finally(&pluginv1.ToolResult{Content: []*pluginv1.Content{c}})
}

func piece(json string) *pluginv1.CallToolResponse {
	return inPart(&pluginv1.ResultPart{Part: &pluginv1.ResultPart_Structured{Structured: []byte(json)}})
}

func inPart(p *pluginv1.ResultPart) *pluginv1.CallToolResponse {
	return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Part{Part: p}}
}

func block(c *pluginv1.Content) *pluginv1.CallToolResponse {
	return inPart(&pluginv1.ResultPart{Part: &pluginv1.ResultPart_Content{Content: c}})
}

func said(e *pluginv1.CallError) *pluginv1.CallToolResponse {
	return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Error{Error: e}}
}

func progress(p *pluginv1.Progress) *pluginv1.CallToolResponse {
	return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Progress{Progress: p}}
}

func logged(l *pluginv1.LogMessage) *pluginv1.CallToolResponse {
	return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Log{Log: l}}
}

func textOf(s string) *pluginv1.Content {
	return &pluginv1.Content{Block: &pluginv1.Content_Text{Text: &pluginv1.TextContent{Text: s}}}
}
