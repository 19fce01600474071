// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// act is the variable that says which plugin the test binary is to be when a
// test launches it: written without the SDK, so that it can do what is wrong.
const act = "PLAY"

// acting is an adapter that runs the test binary as that plugin.
func acting(t *testing.T, as string) *adapter.Desired {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := desired(self)
	d.Env = map[string]string{act: as, "GORACE": "atexit_sleep_ms=0"}
	return d
}

// play serves the part until the process is killed.
func play(as string) {
	identity, own := newIdentity(), newIdentity()
	line := base64.RawStdEncoding.EncodeToString(identity.Certificates[0].Certificate[0])
	serve := identity
	fields := "1|1|unix|%s|grpc|" + line
	service := &part{as: as}
	switch as {
	case "without a certificate":
		fields = "1|1|unix|%s|grpc"
	case "with an empty certificate":
		fields = "1|1|unix|%s|grpc|"
	case "with half a certificate":
		fields = "1|1|unix|%s|grpc|" + line[:len(line)/2]
	case "with another certificate":
		serve = own
	case "without TLS":
		serve = nil
	case "in net/rpc":
		fields = "1|1|unix|%s|netrpc|" + line
	case "for version 2":
		fields = "1|2|unix|%s|grpc|" + line
	case "in tcp":
		fields = "1|1|tcp|127.0.0.1:4711|grpc|" + line
	case "stubborn":
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
	}
	path := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "plugin.sock")
	if as == "elsewhere" {
		path = filepath.Join(os.TempDir(), fmt.Sprintf("tw-%d.sock", os.Getpid()))
		defer func() { _ = os.Remove(path) }()
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	var opts []grpc.ServerOption
	if serve != nil {
		opts = append(opts, grpc.Creds(credentials.NewTLS(serve)))
	}
	s := grpc.NewServer(opts...)
	if as != "without a service" {
		pluginv1.RegisterPluginServiceServer(s, service)
	}
	if as == "telling what it is told" {
		pluginv1.RegisterToolServiceServer(s, telling{})
	}
	if as != "stubborn" {
		s.RegisterService(&controller, struct{}{})
	}
	fmt.Printf(fields+"\n", path)
	_ = s.Serve(l)
}

// controller is go-plugin's way to ask for an end.
var controller = grpc.ServiceDesc{
	ServiceName: "plugin.GRPCController", HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{{
		MethodName: "Shutdown",
		Handler: func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) {
			time.AfterFunc(10*time.Millisecond, func() { os.Exit(0) })
			return &emptypb.Empty{}, nil
		},
	}},
}

// newIdentity is the TLS that a plugin serves with: only the host may connect.
func newIdentity() *tls.Config {
	pair, err := newPair()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	host := x509.NewCertPool()
	host.AppendCertsFromPEM([]byte(os.Getenv("PLUGIN_CLIENT_CERT")))
	return &tls.Config{
		Certificates: pair.config.Certificates, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: host,
		MinVersion: tls.VersionTLS13,
	}
}

// part is the service of a part.
type part struct {
	pluginv1.UnimplementedPluginServiceServer

	as string
}

func (p *part) Describe(ctx context.Context, _ *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	r := &pluginv1.DescribeResponse{Name: "play", Version: "1"}
	switch p.as {
	case "slow to describe itself":
		<-ctx.Done()
		return nil, ctx.Err() // an answer could still come in time
	case "with a broken config schema":
		r.ConfigSchema = []byte(`{"type":"strung"}`)
	case "with a config", "with diagnostics", "ending in configure", "failing in configure":
		r.ConfigSchema = []byte(`{"type":"object","properties":{
			"dsn":{"type":"string","writeOnly":true,"pattern":"^db://"},"n":{"type":"integer"}},
			"required":["dsn"],"additionalProperties":false}`)
	}
	return r, nil
}

func (p *part) Configure(_ context.Context, r *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	out := &pluginv1.ConfigureResponse{}
	say := func(severity pluginv1.Severity, pointer, summary, detail string) {
		out.Diagnostics = append(out.Diagnostics, &pluginv1.Diagnostic{Severity: severity, Pointer: pointer, Summary: summary, Detail: detail})
	}
	switch p.as {
	case "ending in configure":
		fmt.Fprintln(os.Stderr, "panic: no such database")
		os.Exit(5)
	case "failing in configure":
		return nil, status.Error(codes.Internal, "out of order")
	case "with diagnostics":
		say(pluginv1.Severity_SEVERITY_WARNING, "/n", "is rather small", "")
		say(pluginv1.Severity_SEVERITY_ERROR, "/dsn", "no such host", "check the name")
		say(pluginv1.Severity_SEVERITY_UNSPECIFIED, "", "and so on", "")
	case "with warnings", "with a config":
		l := r.GetLimits()
		say(pluginv1.Severity_SEVERITY_WARNING, "", fmt.Sprintf("adapter %s, config %s, message %d, result %d, calls %d, timeout %v, tools %d",
			r.GetAdapter(), r.GetConfig(), l.GetMaxMessageBytes(), l.GetMaxResultBytes(), l.GetMaxInFlight(),
			l.GetCallTimeout().AsDuration(), l.GetMaxTools()), "")
	}
	return out, nil
}

func (p *part) Watch(_ *pluginv1.WatchRequest, stream grpc.ServerStreamingServer[pluginv1.WatchResponse]) error {
	if p.as == "ending after a moment" {
		time.AfterFunc(50*time.Millisecond, func() {
			fmt.Fprintln(os.Stderr, "out of memory")
			os.Exit(9)
		})
	}
	<-stream.Context().Done()
	return nil
}
