// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
	"github.com/toolwharf/toolwharf/sdk/go"
	"github.com/toolwharf/toolwharf/sdk/go/internal/handshake"
)

const (
	// patience is how long the plugin may take to do what it must do soon.
	patience = 20 * time.Second
	// messageBytes is the largest message of hosts.
	messageBytes = 16 << 20
)

// Host is the host of one plugin in a test.
type Host struct {
	tb      testing.TB
	about   *pluginv1.DescribeResponse
	limits  toolwharf.Limits
	adapter string
	cache   string
	logs    *lines
	news    *news

	conn        *grpc.ClientConn
	plugins     pluginv1.PluginServiceClient
	tools       pluginv1.ToolServiceClient
	resources   pluginv1.ResourceServiceClient
	prompts     pluginv1.PromptServiceClient
	completions pluginv1.CompletionServiceClient
	hooks       pluginv1.HookServiceClient
}

// Option says something about the host; see [Start].
type Option func(*settings)

type settings struct {
	config       any
	unconfigured bool
	limits       toolwharf.Limits
	adapter      string
	cache        string
}

// Config is the plugin's configuration: anything that marshals to a JSON object, or
// json.RawMessage. Note that a toolwharf.Secret marshals to "***": write a map.
func Config(v any) Option { return func(s *settings) { s.config = v } }

// Unconfigured leaves the plugin without a configuration: see [Host.Configure].
func Unconfigured() Option { return func(s *settings) { s.unconfigured = true } }

// Limits are what the host accepts; zero values are those of a host as it comes.
func Limits(l toolwharf.Limits) Option { return func(s *settings) { s.limits = l } }

// Adapter is the name of the adapter that the plugin is an instance of; without it
// the plugin's own.
func Adapter(name string) Option { return func(s *settings) { s.adapter = name } }

// CacheDir is the private directory of the adapter; without it there is none.
func CacheDir(path string) Option { return func(s *settings) { s.cache = path } }

// Start serves the plugin until the test ends, configures it with {} or what [Config]
// says, and waits for its catalogue. The test ends at once when one of these fails.
func Start[S any](tb testing.TB, p *toolwharf.Plugin[S], opts ...Option) *Host {
	tb.Helper()
	s := settings{config: struct{}{}}
	for _, o := range opts {
		o(&s)
	}
	logs := newLines()
	identity, client := identities(tb)
	// Not tb.TempDir, which may be too long for a socket.
	dir, err := os.MkdirTemp("", "twt")
	if err != nil {
		tb.Fatal(err)
	}
	l, clean, err := handshake.Listen(handshake.Terms{SocketDir: dir, MinPort: 10000, MaxPort: 25000})
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		served <- p.ServeOn(context.Background(), l, toolwharf.Standalone{TLS: identity, Log: slog.New(logs)})
	}()
	conn := dial(tb, l.Addr(), client)
	tb.Cleanup(func() {
		release(tb, conn, served)
		clean()
		_ = os.RemoveAll(dir)
		if tb.Failed() {
			tb.Logf("log of the plugin:\n%s", logs)
		}
	})
	h := newHost(tb, conn, logs, s)
	h.begin(s)
	return h
}

// newHost talks to whatever is at the other end of the connection.
func newHost(tb testing.TB, conn *grpc.ClientConn, logs *lines, s settings) *Host {
	tb.Helper()
	defaults := toolwharf.Limits{
		MaxMessageBytes: messageBytes, MaxResultBytes: 1 << 20, MaxInFlight: 16, CallTimeout: 30 * time.Second, MaxTools: 1000,
	}
	return &Host{
		tb: tb, logs: logs, news: newNews(), limits: merged(s.limits, defaults), adapter: s.adapter, cache: s.cache,
		conn: conn, plugins: pluginv1.NewPluginServiceClient(conn), tools: pluginv1.NewToolServiceClient(conn),
		resources: pluginv1.NewResourceServiceClient(conn), prompts: pluginv1.NewPromptServiceClient(conn),
		completions: pluginv1.NewCompletionServiceClient(conn), hooks: pluginv1.NewHookServiceClient(conn),
	}
}

func merged(l, otherwise toolwharf.Limits) toolwharf.Limits {
	if l.MaxMessageBytes == 0 {
		l.MaxMessageBytes = otherwise.MaxMessageBytes
	}
	if l.MaxResultBytes == 0 {
		l.MaxResultBytes = otherwise.MaxResultBytes
	}
	if l.MaxInFlight == 0 {
		l.MaxInFlight = otherwise.MaxInFlight
	}
	if l.CallTimeout == 0 {
		l.CallTimeout = otherwise.CallTimeout
	}
	if l.MaxTools == 0 {
		l.MaxTools = otherwise.MaxTools
	}
	return l
}

// begin does what a host does first.
func (h *Host) begin(s settings) {
	h.tb.Helper()
	ctx, cancel := context.WithTimeout(h.tb.Context(), patience)
	defer cancel()
	about, err := h.plugins.Describe(ctx, new(pluginv1.DescribeRequest))
	if err != nil {
		h.tb.Fatalf("Describe: %v", err)
	}
	h.about = about
	h.violated("Describe", ofDescription(about))
	if h.adapter == "" {
		h.adapter = about.GetName()
	}
	if s.unconfigured {
		return
	}
	if errs := h.Configure(s.config).Errors(); len(errs) > 0 {
		h.tb.Fatalf("the configuration is refused: %q", errs)
	}
}

// release lets the plugin go, as hosts do, and waits until it has gone.
func release(tb testing.TB, conn *grpc.ClientConn, served <-chan error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	// The answer may be lost in the end.
	_ = conn.Invoke(ctx, "/plugin.GRPCController/Shutdown", new(emptypb.Empty), new(emptypb.Empty))
	_ = conn.Close()
	select {
	case err := <-served:
		if err != nil {
			tb.Errorf("the plugin did not serve: %v", err)
		}
	case <-ctx.Done():
		tb.Error("the plugin does not end: a call or Close does not return")
	}
}

// dial is a host's end of the handshake.
func dial(tb testing.TB, to net.Addr, conf *tls.Config) *grpc.ClientConn {
	tb.Helper()
	conn, err := grpc.NewClient("passthrough:///plugin", grpc.WithTransportCredentials(credentials.NewTLS(conf)),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, to.Network(), to.String())
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageBytes), grpc.MaxCallSendMsgSize(messageBytes)))
	if err != nil {
		tb.Fatal(err)
	}
	return conn
}

// identities are the two ends of mutual TLS: the plugin makes its own, as it does
// when a host starts it.
func identities(tb testing.TB) (plugin, host *tls.Config) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		tb.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Fatal(err)
	}
	clients := x509.NewCertPool()
	clients.AddCert(cert)
	plugin, err = handshake.Identity(clients)
	if err != nil {
		tb.Fatal(err)
	}
	served, err := x509.ParseCertificate(plugin.Certificates[0].Certificate[0])
	if err != nil {
		tb.Fatal(err)
	}
	servers := x509.NewCertPool()
	servers.AddCert(served)
	return plugin, &tls.Config{
		RootCAs: servers, ServerName: "localhost", MinVersion: tls.VersionTLS13,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
	}
}

// Describe is what the plugin says it is.
func (h *Host) Describe() *pluginv1.DescribeResponse { return h.about }

// Configured is the plugin's judgement of a configuration.
type Configured struct{ Response *pluginv1.ConfigureResponse }

// Errors are the faults, as "pointer: summary: detail"; none: it was accepted.
func (c Configured) Errors() []string { return c.texts(false) }

// Warnings are the remarks about a configuration that is accepted.
func (c Configured) Warnings() []string { return c.texts(true) }

func (c Configured) texts(warnings bool) []string {
	var list []string
	for _, d := range c.Response.GetDiagnostics() {
		if (d.GetSeverity() == pluginv1.Severity_SEVERITY_WARNING) == warnings {
			e := toolwharf.ConfigError{Pointer: d.GetPointer(), Summary: d.GetSummary(), Detail: d.GetDetail()}
			list = append(list, e.Error())
		}
	}
	return list
}

// Grants are what the plugin asks of the operating system.
func (c Configured) Grants() []toolwharf.Grant {
	var list []toolwharf.Grant
	for _, g := range c.Response.GetGrants() {
		kind := map[pluginv1.GrantKind]toolwharf.GrantKind{
			pluginv1.GrantKind_GRANT_KIND_READ:    toolwharf.GrantRead,
			pluginv1.GrantKind_GRANT_KIND_WRITE:   toolwharf.GrantWrite,
			pluginv1.GrantKind_GRANT_KIND_CONNECT: toolwharf.GrantConnect,
		}[g.GetKind()]
		list = append(list, toolwharf.Grant{Kind: kind, Value: g.GetValue()})
	}
	return list
}

// Configure configures the plugin, again if it was. A configuration that does not fit
// the plugin's schema never reaches it: it fails the test.
func (h *Host) Configure(config any) Configured {
	h.tb.Helper()
	c := h.configure(config, false)
	if len(c.Errors()) == 0 {
		h.news.follow(h)
	}
	return c
}

// Check has a configuration judged, and the grants named, without anything being
// opened.
func (h *Host) Check(config any) Configured {
	h.tb.Helper()
	return h.configure(config, true)
}

func (h *Host) configure(config any, checkOnly bool) Configured {
	h.tb.Helper()
	data := h.json(config)
	if err := fit(h.about.GetConfigSchema(), data); err != nil {
		h.tb.Fatalf("the configuration does not fit the plugin's schema, so that no host would hand it over: %v", err)
	}
	ctx, cancel := context.WithTimeout(h.tb.Context(), patience)
	defer cancel()
	resp, err := h.plugins.Configure(ctx, &pluginv1.ConfigureRequest{
		Config: data, CheckOnly: checkOnly, Adapter: h.adapter, CacheDir: h.cache,
		Limits: &pluginv1.Limits{
			MaxMessageBytes: h.limits.MaxMessageBytes, MaxResultBytes: h.limits.MaxResultBytes,
			MaxInFlight: int32(h.limits.MaxInFlight), CallTimeout: durationpb.New(h.limits.CallTimeout), MaxTools: int32(h.limits.MaxTools),
		},
	})
	if err != nil {
		h.tb.Fatalf("Configure: %v", err)
	}
	h.violated("Configure", ofConfiguration(resp))
	return Configured{resp}
}

// Health is nil if the plugin says that it serves.
func (h *Host) Health() error {
	h.tb.Helper()
	ctx, cancel := context.WithTimeout(h.tb.Context(), patience)
	defer cancel()
	r, err := healthv1.NewHealthClient(h.conn).Check(ctx, &healthv1.HealthCheckRequest{Service: "plugin"})
	if err == nil && r.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		err = errors.New(r.GetStatus().String())
	}
	return err
}

// Logs is what the plugin has logged for the operator so far, a line each.
func (h *Host) Logs() string { return h.logs.String() }

// WaitLog waits for a line of the log that has the text in it.
func (h *Host) WaitLog(text string) string {
	h.tb.Helper()
	line, ok := h.logs.wait(text)
	if !ok {
		h.tb.Fatalf("no line with %q in\n%s", text, h.logs)
	}
	return line
}

func (h *Host) json(v any) []byte {
	h.tb.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		h.tb.Fatal(err)
	}
	return data
}

// need fails the test at once when the plugin lacks the feature.
func (h *Host) need(f toolwharf.Feature) {
	h.tb.Helper()
	if !slices.Contains(h.about.GetFeatures(), string(f)) {
		h.tb.Fatalf("the plugin has not the feature %q, only %q", f, h.about.GetFeatures())
	}
}

// violated fails the test for what the plugin may not say.
func (h *Host) violated(where string, faults []string) {
	h.tb.Helper()
	for _, f := range faults {
		h.tb.Errorf("%s: the protocol is violated: %s", where, f)
	}
}

// lines collects what the plugin logs, and lets a test wait for it.
type lines struct {
	slog.Handler
	mu   sync.Mutex
	text []byte
	more chan struct{} // closed and replaced at each write
}

func newLines() *lines {
	l := &lines{more: make(chan struct{})}
	l.Handler = slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})
	return l
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.more)
	l.more = make(chan struct{})
	l.text = append(l.text, p...)
	return len(p), nil
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
