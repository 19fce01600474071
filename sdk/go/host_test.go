// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// testPlugin is the variable that makes the test binary a plugin.
const testPlugin = "TOOLWHARF_TEST_PLUGIN"

func TestMain(m *testing.M) {
	switch os.Getenv(testPlugin) {
	case "":
		os.Exit(m.Run())
	case "wrong":
		wrongPlugin().Serve()
	case "parent":
		beParent()
	default:
		harbour().Serve()
	}
}

// testHost is a host's side of the handshake, as go-plugin has it with a P-256
// pair of its own.
type testHost struct {
	cert tls.Certificate
	env  map[string]string
}

func newTestHost(t *testing.T) *testHost {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		NotBefore:   time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "twh") // t.TempDir may be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return &testHost{
		cert: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		env: map[string]string{
			testPlugin:                 "harbour",
			"GORACE":                   "atexit_sleep_ms=0",
			"TOOLWHARF_PLUGIN":         "toolwharf.plugin.v1",
			"PLUGIN_PROTOCOL_VERSIONS": "1",
			"PLUGIN_UNIX_SOCKET_DIR":   dir,
			"PLUGIN_CLIENT_CERT":       string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		},
	}
}

// launched is one plugin process.
type launched struct {
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr *logBuffer
	line   string
	done   chan struct{} // closed when it has exited and its output is read
}

func (h *testHost) command() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	for k, v := range h.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	return cmd
}

// launch starts the plugin and reads the handshake; "": there was none.
func (h *testHost) launch(t *testing.T) *launched {
	t.Helper()
	cmd := h.command()
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	l := &launched{cmd: cmd, stdout: bufio.NewReader(stdout), stderr: newLogBuffer(), done: make(chan struct{})}
	cmd.Stderr = l.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	l.line, _ = l.stdout.ReadString('\n')
	go func() {
		_, _ = io.Copy(io.Discard, l.stdout)
		_ = cmd.Wait()
		close(l.done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-l.done
		if t.Failed() {
			t.Logf("stderr of the plugin:\n%s", l.stderr)
		}
	})
	return l
}

func (l *launched) fields() []string { return strings.Split(strings.TrimSuffix(l.line, "\n"), "|") }

func (l *launched) exitCode(t *testing.T) int {
	t.Helper()
	select {
	case <-l.done:
	case <-time.After(20 * time.Second):
		t.Fatal("the plugin does not exit")
	}
	return l.cmd.ProcessState.ExitCode()
}

// dial connects with the host's certificate, or with another one.
func (h *testHost) dial(t *testing.T, l *launched, client *tls.Certificate) *grpc.ClientConn {
	t.Helper()
	f := l.fields()
	if len(f) < 6 {
		t.Fatalf("no handshake: %q\n%s", l.line, l.stderr)
	}
	der, err := base64.RawStdEncoding.DecodeString(f[5])
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	conf := &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS13}
	if client != nil {
		conf.Certificates = []tls.Certificate{*client}
	}
	return connect(t, f[2], f[3], credentials.NewTLS(conf))
}

func connect(t *testing.T, network, address string, creds credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	if creds == nil {
		creds = insecure.NewCredentials()
	}
	conn, err := grpc.NewClient("passthrough:///plugin", grpc.WithTransportCredentials(creds),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageBytes), grpc.MaxCallSendMsgSize(messageBytes)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// moored is a plugin that was launched and dialled.
type moored struct {
	*launched
	conn    *grpc.ClientConn
	plugins pluginv1.PluginServiceClient
	tools   pluginv1.ToolServiceClient
}

func moor(t *testing.T) *moored {
	t.Helper()
	h := newTestHost(t)
	l := h.launch(t)
	conn := h.dial(t, l, &h.cert)
	return &moored{l, conn, pluginv1.NewPluginServiceClient(conn), pluginv1.NewToolServiceClient(conn)}
}

func (m *moored) configure(t *testing.T, req *pluginv1.ConfigureRequest) *pluginv1.ConfigureResponse {
	t.Helper()
	resp, err := m.plugins.Configure(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

// outcome is all that a call said.
type outcome struct {
	progress []*pluginv1.Progress
	log      []*pluginv1.LogMessage
	parts    int
	result   *pluginv1.ToolResult // parts put together
	question *pluginv1.InputRequired
	err      *pluginv1.CallError
}

func (m *moored) call(t *testing.T, tool, args string) outcome {
	t.Helper()
	return m.send(t, &pluginv1.CallToolRequest{
		Tool: tool, Arguments: []byte(args), Context: &pluginv1.CallContext{
			CallId: "call_1", Attempt: 2, RunId: "run_1", ProtocolVersion: "2026-07-28", WantsProgress: true, Principal: "ada",
		},
	})
}

func (m *moored) send(t *testing.T, req *pluginv1.CallToolRequest) outcome {
	t.Helper()
	stream, err := m.tools.CallTool(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	out, err := gather(stream)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func gather(stream grpc.ServerStreamingClient[pluginv1.CallToolResponse]) (out outcome, err error) {
	var structured []byte
	var content []*pluginv1.Content
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		switch m := m.GetMessage().(type) {
		case *pluginv1.CallToolResponse_Progress:
			out.progress = append(out.progress, m.Progress)
		case *pluginv1.CallToolResponse_Log:
			out.log = append(out.log, m.Log)
		case *pluginv1.CallToolResponse_Part:
			out.parts++
			structured = append(structured, m.Part.GetStructured()...)
			if c := m.Part.GetContent(); c != nil {
				content = append(content, c)
			}
		case *pluginv1.CallToolResponse_Result:
			out.result = m.Result
			if out.parts > 0 {
				out.result.Structured, out.result.Content = structured, content
			}
		case *pluginv1.CallToolResponse_InputRequired:
			out.question = m.InputRequired
		case *pluginv1.CallToolResponse_Error:
			out.err = m.Error
		}
	}
}

// logBuffer collects what a process writes, and lets a test wait for it.
type logBuffer struct {
	lock chan struct{}
	buf  bytes.Buffer
	more chan struct{} // closed and replaced at each write
}

func newLogBuffer() *logBuffer {
	return &logBuffer{lock: make(chan struct{}, 1), more: make(chan struct{})}
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.lock <- struct{}{}
	defer func() { <-b.lock }()
	close(b.more)
	b.more = make(chan struct{})
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.lock <- struct{}{}
	defer func() { <-b.lock }()
	return b.buf.String()
}

// wait returns the first line that has all of the words.
func (b *logBuffer) wait(t *testing.T, words ...string) string {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		b.lock <- struct{}{}
		text, more := b.buf.String(), b.more
		<-b.lock
		for line := range strings.Lines(text) {
			found := strings.HasSuffix(line, "\n")
			for _, w := range words {
				found = found && strings.Contains(line, w)
			}
			if found {
				return line
			}
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("no line with %q in\n%s", words, text)
		}
	}
}
