// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// faultKey is the variable that makes a plugin of the test binary: one that is
// as it should be, but for the fault that the variable names.
const faultKey = "CONFORM_FAULT"

func TestMain(m *testing.M) {
	if fault, set := os.LookupEnv(faultKey); set {
		broken(fault).main()
	}
	os.Exit(m.Run())
}

// broken is the fault that a plugin has; "none": none.
type broken string

func (b broken) has(fault string) bool { return string(b) == fault }

func die(code int, words string) {
	if words != "" {
		fmt.Fprintln(os.Stderr, words)
	}
	os.Exit(code)
}

func (b broken) main() {
	cookie := os.Getenv("TOOLWHARF_PLUGIN")
	if cookie == "" {
		switch b {
		case "mute":
			die(1, "")
		case "zero":
			die(0, "I am a plugin")
		case "waits":
			select {}
		}
		die(1, "I am a plugin")
	}
	if cookie != "toolwharf.plugin.v1" && !b.has("any-cookie") {
		die(1, "I speak toolwharf.plugin.v1")
	}
	cert := os.Getenv("PLUGIN_CLIENT_CERT")
	if cert == "" && !b.has("plaintext") && !b.has("any-cookie") {
		die(1, "I need a certificate")
	}
	if b.has("dies") {
		die(3, "cannot open the frobnicator")
	}
	if b.has("reads-stdin") {
		_, _ = io.Copy(io.Discard, os.Stdin)
		die(0, "")
	}
	b.serve(cert)
}

// identity is a certificate for a name, and the DER of it.
func identity(name string) (tls.Certificate, []byte) {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		die(1, err.Error())
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, der
}

// tls is the server's side, and the certificate of the handshake.
func (b broken) tls(host string) (config *tls.Config, der []byte) {
	name := "localhost"
	if b.has("wrong-name") {
		name = "example.com"
	}
	cert, der := identity(name)
	if b.has("another-certificate") {
		_, der = identity(name)
	}
	config = &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool(),
	}
	config.ClientCAs.AppendCertsFromPEM([]byte(host))
	switch b {
	case "no-client-certificate":
		config.ClientAuth = tls.NoClientCert
	case "any-client-certificate":
		config.ClientAuth = tls.RequireAnyClientCert
	case "old-tls":
		config.MaxVersion = tls.VersionTLS12
	}
	return config, der
}

func (b broken) listen() net.Listener {
	dir := os.Getenv("PLUGIN_UNIX_SOCKET_DIR")
	if b.has("elsewhere") {
		dir, _ = os.MkdirTemp("", "tw-")
		_ = os.Remove(filepath.Join(os.Getenv("CONFORM_TRASH"), "elsewhere"))
		_ = os.Symlink(dir, filepath.Join(os.Getenv("CONFORM_TRASH"), "elsewhere"))
	}
	network, address := "unix", filepath.Join(dir, "s")
	if b.has("tcp") {
		network, address = "tcp", "127.0.0.1:0"
	}
	l, err := net.Listen(network, address)
	if err != nil {
		die(1, err.Error())
	}
	return l
}

func (b broken) serve(host string) {
	config, der := b.tls(host)
	creds := credentials.NewTLS(config)
	if b.has("plaintext") {
		creds = insecure.NewCredentials()
	}
	l := b.listen()
	limit := 16 << 20
	options := []grpc.ServerOption{grpc.Creds(creds), grpc.MaxSendMsgSize(limit)}
	if !b.has("small-messages") {
		options = append(options, grpc.MaxRecvMsgSize(limit))
	}
	if b.has("small-answers") {
		options = append(options, grpc.MaxSendMsgSize(1<<20))
	}
	server := grpc.NewServer(options...)
	b.register(server)
	if !b.has("orphan") {
		go endWithParent()
	}
	go b.accept(server, l, config)
	line := fmt.Sprintf("1|1|%s|%s|grpc|%s", l.Addr().Network(), l.Addr(), base64.RawStdEncoding.EncodeToString(der))
	switch b {
	case "silent":
		select {}
	case "garbage":
		line = "listening..."
	case "padded":
		line += "="
	case "no-certificate-in-line":
		line = line[:strings.LastIndex(line, "|")+1]
	case "version-2":
		line = strings.Replace(line, "1|1|", "1|2|", 1)
	case "prints":
		line += "\nready to serve"
	}
	fmt.Println(line)
	select {}
}

// accept serves. gRPC's own server ends a stream at its deadline, whatever the
// plugin does; net/http's does not.
func (b broken) accept(server *grpc.Server, l net.Listener, config *tls.Config) {
	if b.has("deaf") {
		h := &http.Server{Handler: server, TLSConfig: config}
		_ = h.ServeTLS(l, "", "")
	}
	_ = server.Serve(l)
}

func endWithParent() {
	for parent := os.Getppid(); os.Getppid() == parent; time.Sleep(10 * time.Millisecond) {
	}
	os.Exit(1)
}

func (b broken) register(server *grpc.Server) {
	if !b.has("no-health") {
		h := health.NewServer()
		state := grpc_health_v1.HealthCheckResponse_SERVING
		if b.has("unhealthy") {
			state = grpc_health_v1.HealthCheckResponse_NOT_SERVING
		}
		h.SetServingStatus("plugin", state)
		grpc_health_v1.RegisterHealthServer(server, h)
	}
	if !b.has("no-controller") {
		server.RegisterService(&grpc.ServiceDesc{
			ServiceName: "plugin.GRPCController", HandlerType: (*any)(nil),
			Methods: []grpc.MethodDesc{{MethodName: "Shutdown", Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				if !b.has("stays") {
					time.AfterFunc(10*time.Millisecond, func() { os.Exit(0) })
				}
				return &emptypb.Empty{}, decode(&emptypb.Empty{})
			}}},
		}, nil)
	}
	p := &brokenPlugin{broken: b}
	pluginv1.RegisterPluginServiceServer(server, p)
	pluginv1.RegisterToolServiceServer(server, p)
}

// brokenPlugin serves.
type brokenPlugin struct {
	pluginv1.UnimplementedPluginServiceServer
	pluginv1.UnimplementedToolServiceServer
	broken

	mu     sync.Mutex
	ready  bool
	limits *pluginv1.Limits
	token  string
	last   string // text that was called with
	held   []any  // whatever is opened and never closed
}

const brokenSchema = `{"type":"object","properties":{"token":{"type":"string","writeOnly":true},"mode":{"enum":["fast","slow"]}},` +
	`"required":["token"],"additionalProperties":false}`

// strict refuses what it does not know.
func (p *brokenPlugin) strict(m proto.Message) error {
	if p.has("strict") && len(m.ProtoReflect().GetUnknown()) > 0 {
		return status.Error(codes.InvalidArgument, "what is that?")
	}
	return nil
}

func (p *brokenPlugin) Describe(_ context.Context, req *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	d := &pluginv1.DescribeResponse{Name: "broken", Version: "1", ConfigSchema: []byte(brokenSchema), Features: []string{"tools"}}
	switch p.broken {
	case "name":
		d.Name = "Broken Plugin"
	case "needs-config":
		return nil, status.Error(codes.FailedPrecondition, "configure me first")
	case "schema":
		d.ConfigSchema = []byte(`{"type":"objekt"}`)
	case "schema-of-anything":
		d.ConfigSchema = []byte(`{"properties":{"token":{"writeOnly":true}}}`)
	case "random":
		d.Version = rand.Text()
	case "no-feature":
		d.Features = nil
	}
	return d, p.strict(req)
}

func (p *brokenPlugin) Configure(_ context.Context, req *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var config struct{ Token, Mode string }
	err := json.Unmarshal(req.GetConfig(), &config)
	refuse := func(pointer, summary string) *pluginv1.ConfigureResponse {
		return &pluginv1.ConfigureResponse{Diagnostics: []*pluginv1.Diagnostic{{Severity: pluginv1.Severity_SEVERITY_ERROR, Pointer: pointer, Summary: summary}}}
	}
	switch {
	case err != nil && p.has("config-status"):
		return nil, status.Error(codes.InvalidArgument, err.Error())
	case err != nil && p.has("config-crash"):
		panic(err)
	case err != nil && p.has("config-pointer"):
		return refuse("config.token", "not right"), nil
	case err != nil && p.has("config-mute"):
		return refuse("/token", ""), nil
	case err != nil && p.has("config-tells"):
		return refuse("/token", "cannot read "+string(req.GetConfig())), nil
	case err != nil && p.has("config-takes-anything"):
	case err != nil && p.has("config-half"):
		p.ready = true
		return refuse("/token", "not right"), nil
	case err != nil || config.Token == "":
		return refuse("/token", "not right"), nil
	case p.has("refuses"):
		return refuse("/token", "it is too good"), nil
	}
	r := &pluginv1.ConfigureResponse{Grants: []*pluginv1.Grant{
		{Kind: pluginv1.GrantKind_GRANT_KIND_READ, Value: "/tmp"}, {Kind: pluginv1.GrantKind_GRANT_KIND_CONNECT, Value: "localhost:80"},
	}}
	switch p.broken {
	case "relative-grant":
		r.Grants[0].Value = "tmp"
	case "grant-without-port":
		r.Grants[1].Value = "localhost"
	case "grant-of-no-kind":
		r.Grants[0].Kind = 0
	}
	if req.GetCheckOnly() {
		p.overdo(req)
		return r, p.strict(req)
	}
	p.ready, p.limits, p.token = true, req.GetLimits(), config.Token
	if p.has("logs-secrets") {
		fmt.Fprintln(os.Stderr, "configured with", config.Token)
	}
	return r, p.strict(req)
}

// overdo does at check_only what only Configure may.
func (p *brokenPlugin) overdo(req *pluginv1.ConfigureRequest) {
	switch p.broken {
	case "check-opens-file":
		f, _ := os.Open(os.Args[0])
		p.held = append(p.held, f)
	case "check-opens-socket":
		l, _ := net.Listen("tcp", "127.0.0.1:0")
		p.held = append(p.held, l)
	case "check-writes":
		_ = os.WriteFile(filepath.Join(req.GetCacheDir(), "x"), nil, 0o600)
	case "check-configures":
		p.ready = true
	}
}

func (p *brokenPlugin) Watch(_ *pluginv1.WatchRequest, stream grpc.ServerStreamingServer[pluginv1.WatchResponse]) error {
	p.mu.Lock()
	ready := p.ready
	p.mu.Unlock()
	if !ready && !p.has("watch-first") {
		return status.Error(codes.FailedPrecondition, "not configured")
	}
	if p.has("note-first") {
		_ = stream.Send(&pluginv1.WatchResponse{Event: &pluginv1.WatchResponse_Note{Note: &pluginv1.Note{Text: "hello"}}})
	}
	if p.has("no-catalogue") {
		return nil
	}
	return stream.Send(&pluginv1.WatchResponse{Event: &pluginv1.WatchResponse_Catalog{Catalog: p.catalogue()}})
}

func (p *brokenPlugin) catalogue() *pluginv1.Catalog {
	read := pluginv1.Effects_EFFECTS_READ_ONLY
	echo := &pluginv1.Tool{
		Name: "echo", Effects: read,
		InputSchema:  []byte(`{"type":"object","properties":{"text":{"type":"string"},"value":{}},"required":["text"],"additionalProperties":false}`),
		OutputSchema: []byte(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
	}
	tools := []*pluginv1.Tool{
		echo,
		{Name: "sleep", Effects: read, InputSchema: []byte(`{"type":"object","properties":{"ms":{"type":"integer","minimum":0,"maximum":1000000}}}`)},
		{Name: "ask", Effects: read},
		{Name: "write", InputSchema: []byte(`{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}`)},
	}
	switch p.broken {
	case "tool-name":
		echo.Name = "echo!"
	case "tool-schema":
		echo.InputSchema = []byte(`{"type":"array"}`)
	case "tool-output-schema":
		echo.OutputSchema = []byte(`{"$ref":"https://example.com/schema.json"}`)
	case "tool-twice":
		tools[1].Name = "echo"
	case "tool-description":
		echo.Description = strings.Repeat("x", 20_000)
	case "tool-effects":
		echo.Effects = 17
	case "tool-random":
		echo.InputSchema = []byte(strings.Replace(string(echo.GetInputSchema()), `{}`, strings.Repeat(" ", os.Getpid()%1000+1)+`{}`, 1))
	case "tool-random-text":
		echo.Description = fmt.Sprint("of process ", os.Getpid())
	case "tool-comes-and-goes":
		echo.Name = fmt.Sprint("echo", os.Getpid())
	}
	return &pluginv1.Catalog{Tools: tools}
}

func said(kind pluginv1.ErrorKind, code string) *pluginv1.CallToolResponse {
	return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Error{Error: &pluginv1.CallError{Kind: kind, Code: code, Text: code}}}
}

func structured(v any) *pluginv1.CallToolResponse {
	b, _ := json.Marshal(v)
	return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Result{Result: &pluginv1.ToolResult{Structured: b}}}
}

type callStream = grpc.ServerStreamingServer[pluginv1.CallToolResponse]

func (p *brokenPlugin) CallTool(req *pluginv1.CallToolRequest, stream callStream) error {
	if err := p.strict(req); err != nil {
		return err
	}
	if p.has("once") && req.GetContext().GetAttempt() > 1 {
		return status.Error(codes.AlreadyExists, "I know that call")
	}
	if req.GetTool() == "ask" {
		return p.ask(req, stream)
	}
	var args struct {
		Text  *string         `json:"text"`
		Value json.RawMessage `json:"value,omitempty"`
		MS    int             `json:"ms"`
	}
	if err := json.Unmarshal(req.GetArguments(), &args); err != nil {
		switch p.broken {
		case "invalid-crash":
			panic(err)
		case "invalid-status":
			return status.Error(codes.InvalidArgument, err.Error())
		}
		return stream.Send(said(pluginv1.ErrorKind_ERROR_KIND_ARGS_INVALID, "invalid_args"))
	}
	switch req.GetTool() {
	case "echo":
		if args.Text == nil {
			return stream.Send(said(pluginv1.ErrorKind_ERROR_KIND_ARGS_INVALID, "invalid_args"))
		}
		return p.echo(*args.Text, args.Value, stream)
	case "sleep":
		return p.sleep(time.Duration(args.MS)*time.Millisecond, stream)
	case "write":
		panic("the kit has called a tool with effects")
	}
	switch p.broken {
	case "unknown-status":
		return status.Error(codes.NotFound, "no such tool")
	case "unknown-result":
		return stream.Send(structured(map[string]any{}))
	}
	return stream.Send(said(pluginv1.ErrorKind_ERROR_KIND_TOOL_FAILED, "unknown_tool"))
}

func (p *brokenPlugin) echo(text string, value json.RawMessage, stream callStream) error {
	if p.has("tells-secrets") {
		p.mu.Lock()
		text += " " + base64.StdEncoding.EncodeToString([]byte(p.token))
		p.mu.Unlock()
	}
	out := map[string]any{"text": text, "value": value}
	switch p.broken {
	case "no-end":
		return nil
	case "fails":
		return stream.Send(said(pluginv1.ErrorKind_ERROR_KIND_TOOL_ERROR, "no"))
	case "odd-code":
		return stream.Send(said(pluginv1.ErrorKind_ERROR_KIND_TOOL_ERROR, "Not Found"))
	case "output":
		out["text"] = 7
	case "not-json":
		return stream.Send(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Result{Result: &pluginv1.ToolResult{Structured: []byte("{")}}})
	case "no-structure":
		return stream.Send(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Result{Result: &pluginv1.ToolResult{}}})
	case "progress-falls":
		for _, n := range []float64{2, 1} {
			_ = stream.Send(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Progress{Progress: &pluginv1.Progress{Progress: n}}})
		}
	case "log-not-json":
		_ = stream.Send(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Log{Log: &pluginv1.LogMessage{Data: []byte("hello")}}})
	case "floats":
		var f any
		if value != nil && json.Unmarshal(value, &f) == nil {
			out["value"] = f
		}
	case "trims":
		out["value"] = json.RawMessage(strings.TrimSuffix(string(value), "0"))
		if len(value) == 0 {
			delete(out, "value")
		}
	case "ascii":
		out["text"] = strings.Map(func(r rune) rune {
			if r > 127 {
				return '?'
			}
			return r
		}, text)
	case "cuts":
		out["text"] = text[:min(len(text), 1<<20)]
	case "mixes":
		p.mu.Lock()
		out["text"], p.last = p.last, text
		if !strings.Contains(text, "-of-") {
			out["text"] = text
		}
		p.mu.Unlock()
	}
	p.mu.Lock()
	limit := p.limits.GetMaxResultBytes()
	p.mu.Unlock()
	if int64(len(text)) > limit && !p.has("no-limit") {
		return stream.Send(said(pluginv1.ErrorKind_ERROR_KIND_RESULT_TOO_LARGE, "result_too_large"))
	}
	r := structured(out)
	if p.has("two-ends") {
		_ = stream.Send(r)
	}
	return stream.Send(r)
}

func (p *brokenPlugin) sleep(d time.Duration, stream callStream) error {
	done := stream.Context().Done()
	switch {
	case p.has("deaf"):
		done = nil
	case p.has("locks") && d > 0:
		p.mu.Lock() // for ever
	}
	select {
	case <-done:
		return stream.Send(said(pluginv1.ErrorKind_ERROR_KIND_CANCELLED, "cancelled"))
	case <-time.After(d):
		return stream.Send(structured(map[string]any{}))
	}
}

func (p *brokenPlugin) ask(req *pluginv1.CallToolRequest, stream callStream) error {
	if len(req.GetAnswers()) > 0 {
		if p.has("answer-status") {
			return status.Error(codes.Aborted, "no")
		}
		return stream.Send(said(pluginv1.ErrorKind_ERROR_KIND_TOOL_ERROR, "declined"))
	}
	q := &pluginv1.InputRequest{
		Method: "elicitation/create",
		Params: []byte(`{"message":"Which?","requestedSchema":{"type":"object","properties":{"it":{"type":"string"}}}}`),
	}
	switch p.broken {
	case "odd-method":
		q.Method = "elicitation"
	case "question-without-message":
		q.Params = []byte(`{"requestedSchema":{"type":"object"}}`)
	case "question-nested":
		q.Params = []byte(`{"message":"Which?","requestedSchema":{"type":"object","properties":{"it":{"type":"object"}}}}`)
	case "question-url":
		q.Params = []byte(`{"message":"Which?","mode":"url"}`)
	case "sampling-empty":
		q.Method, q.Params = "sampling/createMessage", []byte(`{}`)
	}
	return stream.Send(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_InputRequired{
		InputRequired: &pluginv1.InputRequired{Requests: map[string]*pluginv1.InputRequest{"it": q}, State: []byte("1")},
	}})
}
