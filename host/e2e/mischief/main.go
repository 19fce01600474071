// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Mischief is a plugin that does what no plugin should: it is written without
// the SDK, which would not let it. The variable MISCHIEF says what it does
// beside serving its tools; each of them but token does something wrong.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

const mib = 1 << 20

func main() {
	if os.Getenv("MISCHIEF") == "stays" {
		select {}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().AddDate(1, 0, 0),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	check(err)
	host := x509.NewCertPool()
	if block, _ := pem.Decode([]byte(os.Getenv("PLUGIN_CLIENT_CERT"))); block != nil {
		cert, err := x509.ParseCertificate(block.Bytes)
		check(err)
		host.AddCert(cert)
	}
	socket := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s")
	l, err := net.Listen("unix", socket)
	check(err)
	s := grpc.NewServer(grpc.ForceServerCodecV2(verbatim{encoding.GetCodecV2("proto")}),
		grpc.Creds(credentials.NewTLS(&tls.Config{
			Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
			ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: host, MinVersion: tls.VersionTLS13,
		})))
	p := &plugin{mischief: os.Getenv("MISCHIEF")}
	pluginv1.RegisterPluginServiceServer(s, p)
	pluginv1.RegisterToolServiceServer(s, p)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "plugin.GRPCController", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Shutdown",
			Handler: func(any, context.Context, func(any) error, grpc.UnaryServerInterceptor) (any, error) {
				p.shutdown()
				return &emptypb.Empty{}, nil
			},
		}},
	}, struct{}{})
	shown := "unix|" + socket
	if another := os.Getenv("SHOWN"); another != "" { // where somebody else serves
		shown = another
	}
	_, _ = fmt.Fprintf(os.Stdout, "1|1|%s|grpc|%s\n", shown, base64.RawStdEncoding.EncodeToString(der))
	switch p.mischief {
	case "floods stderr":
		go flood(os.Stderr)
	case "floods stdout":
		go flood(os.Stdout)
	}
	check(s.Serve(l))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func flood(f *os.File) {
	line := []byte(`{"@level":"error","@message":"` + strings.Repeat("noise ", 20) + `"}` + "\n")
	for {
		_, _ = f.Write(line)
	}
}

// verbatim sends what is bytes already as it is.
type verbatim struct{ encoding.CodecV2 }

// raw is a message that no Go program would make.
type raw struct {
	proto.Message

	bytes []byte
}

func (v verbatim) Marshal(m any) (mem.BufferSlice, error) {
	if r, ok := m.(*raw); ok {
		return mem.BufferSlice{mem.SliceBuffer(r.bytes)}, nil
	}
	return v.CodecV2.Marshal(m)
}

type plugin struct {
	pluginv1.UnimplementedPluginServiceServer
	pluginv1.UnimplementedToolServiceServer

	mischief string
}

func (p *plugin) shutdown() {
	if p.mischief == "exits while it is drained" {
		os.Exit(7)
	}
	time.AfterFunc(10*time.Millisecond, func() { os.Exit(0) })
}

func (p *plugin) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	d := &pluginv1.DescribeResponse{Name: "mischief", Version: "1"}
	if p.mischief == "intrudes" {
		d.ConfigSchema = []byte(`{"type":"object"}`)
	}
	return d, nil
}

func (p *plugin) Configure(_ context.Context, request *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	r := &pluginv1.ConfigureResponse{}
	if p.mischief == "intrudes" { // it asks for what its configuration says
		var config struct {
			Read    []string `json:"read"`
			Write   []string `json:"write"`
			Connect []string `json:"connect"`
		}
		if err := json.Unmarshal(request.GetConfig(), &config); err != nil {
			return nil, err
		}
		for kind, values := range map[pluginv1.GrantKind][]string{
			pluginv1.GrantKind_GRANT_KIND_READ: config.Read, pluginv1.GrantKind_GRANT_KIND_WRITE: config.Write, pluginv1.GrantKind_GRANT_KIND_CONNECT: config.Connect,
		} {
			for _, v := range values {
				r.Grants = append(r.Grants, &pluginv1.Grant{Kind: kind, Value: v})
			}
		}
	}
	if p.mischief == "has a million warnings" {
		for range 1_000_000 {
			r.Diagnostics = append(r.Diagnostics, &pluginv1.Diagnostic{Severity: pluginv1.Severity_SEVERITY_WARNING, Summary: "w"})
		}
	}
	return r, nil
}

type watch = grpc.ServerStreamingServer[pluginv1.WatchResponse]

func (p *plugin) Watch(_ *pluginv1.WatchRequest, stream watch) error {
	all := tools()
	switch p.mischief {
	case "lists 100000 tools":
		for i := range 100_000 {
			all = append(all, tool(fmt.Sprintf("t%d", i), `{"type":"object"}`))
		}
	case "lists 100000 broken tools":
		for i := range 100_000 {
			all = append(all, tool(fmt.Sprintf("broken tool %d", i), `{"type":"strung"}`))
		}
	case "has a schema of 50 MiB":
		all = append(all, tool("huge", fmt.Sprintf(`{"type":"object","description":%q}`, strings.Repeat("x", 50*mib))))
	case "has a schema of 15 MiB":
		all = append(all, tool("huge", fmt.Sprintf(`{"type":"object","description":%q}`, strings.Repeat("x", 15*mib))))
	case "has lattices of references":
		for i := range 10_000 {
			all = append(all, tool(fmt.Sprintf("lattice%d", i), lattice(20)))
		}
	case "lists dust": // seven million tools without anything
		return stand(stream, stream.SendMsg(&raw{bytes: append([]byte{0x0a}, sized(pairs(0x0a, 0x00, 7*mib))...)}))
	}
	if err := stream.Send(catalog(all)); err != nil {
		return err
	}
	for n := 0; ; n++ {
		var err error
		switch p.mischief {
		case "changes its catalogue wildly":
			err = stream.Send(catalog(append(tools(), some(n)...)))
		case "floods its watch":
			err = stream.Send(catalog(all))
		case "floods its watch with notes":
			err = stream.Send(&pluginv1.WatchResponse{Event: &pluginv1.WatchResponse_Note{Note: &pluginv1.Note{Text: strings.Repeat("note ", 100)}}})
		default:
			return stand(stream, nil)
		}
		if err != nil {
			return err
		}
	}
}

// stand holds the stream open.
func stand(stream watch, err error) error {
	if err == nil {
		<-stream.Context().Done()
	}
	return err
}

func catalog(tools []*pluginv1.Tool) *pluginv1.WatchResponse {
	return &pluginv1.WatchResponse{Event: &pluginv1.WatchResponse_Catalog{Catalog: &pluginv1.Catalog{Tools: tools}}}
}

func tool(name, schema string) *pluginv1.Tool {
	return &pluginv1.Tool{Name: name, InputSchema: []byte(schema), Effects: pluginv1.Effects_EFFECTS_READ_ONLY}
}

// some is another set of tools each time, now with one schema, now with another,
// now with none that is one.
func some(n int) (out []*pluginv1.Tool) {
	for i := range n % 50 {
		schema := []string{`{"type":"object"}`, `{"type":"object","maxProperties":0}`, `{"type":7}`}[(n+i)%3]
		out = append(out, tool(fmt.Sprintf("t%d", (n+i)%100), schema))
	}
	return out
}

// lattice doubles what it refers to at each of its steps.
func lattice(steps int) string {
	defs := map[string]any{fmt.Sprintf("d%d", steps): true}
	for i := range steps {
		next := map[string]any{"$ref": fmt.Sprintf("#/$defs/d%d", i+1)}
		defs[fmt.Sprintf("d%d", i)] = map[string]any{"allOf": []any{next, next}}
	}
	out, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{"$ref": "#/$defs/d0"}}, "$defs": defs})
	check(err)
	return string(out)
}

// sized puts a length before bytes, as protobuf does.
func sized(b []byte) []byte {
	n, out := len(b), []byte(nil)
	for n >= 0x80 {
		out, n = append(out, byte(n)|0x80), n>>7
	}
	return append(append(out, byte(n)), b...)
}

func pairs(a, b byte, n int) []byte {
	out := make([]byte, 0, 2*n)
	for range n {
		out = append(out, a, b)
	}
	return out
}
