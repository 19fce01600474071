// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/types/known/emptypb"
)

// What go-plugin would do beside the protocol: streams are refused on the
// host's side, and a request to end has a deadline.
func TestGoPluginsOwnServicesAreKeptOut(t *testing.T) {
	l := bufconn.Listen(1 << 10)
	called := make(chan string, 10)
	deadline := make(chan time.Duration, 10)
	g := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		name, _ := grpc.MethodFromServerStream(s)
		called <- name
		end, ok := s.Context().Deadline()
		if !ok {
			end = time.Now().Add(24 * time.Hour)
		}
		deadline <- time.Until(end)
		return s.SendMsg(&emptypb.Empty{})
	}))
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	conn, err := grpc.NewClient("passthrough:plugin", append(
		dialOptions(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })

	for _, method := range []string{"/plugin.GRPCBroker/StartStream", "/plugin.GRPCStdio/StreamStdio"} {
		_, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %v", method, err)
		}
	}
	if len(called) != 0 {
		t.Errorf("%s reached the plugin", <-called)
	}

	if err := conn.Invoke(t.Context(), "/plugin.GRPCController/Shutdown", &emptypb.Empty{}, &emptypb.Empty{}); err != nil {
		t.Error(err)
	}
	if left := <-deadline; left > shutdownGrace {
		t.Errorf("a request to end has %v", left)
	}
	if err := conn.Invoke(t.Context(), "/toolwharf.plugin.v1.PluginService/Configure", &emptypb.Empty{}, &emptypb.Empty{}); err != nil {
		t.Error(err)
	}
	if left := <-deadline; left < time.Hour {
		t.Errorf("a call that has no deadline got one of %v", left)
	}
}
