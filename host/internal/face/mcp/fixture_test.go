// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

var update = flag.Bool("update", false, "write golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const legacy = "2025-06-18"

// eras are a version of each of the two protocols: requests that stand alone,
// and those after an initialize.
var eras = []string{versionModern, legacy}

// host is a face over a real registry and an executor that a test supplies.
type host struct {
	t        *testing.T
	registry *registry.Registry
	face     *Face
	url      string

	// run is the executor's Do.
	run func(context.Context, *tool.Call) (tool.Outcome, error)

	mu       sync.Mutex
	calls    []*tool.Call
	rejected []*tool.Error
}

// nobody is a runner that is never run: calls end in host.run.
type nobody struct{ tool.Runner }

func newHost(t *testing.T, config Config, specs ...tool.Spec) *host {
	t.Helper()
	h := &host{t: t, registry: registry.New(), run: echo}
	if len(specs) == 0 {
		specs = []tool.Spec{spec("echo")}
	}
	h.replace("test", specs...)
	config.Name, config.Version = "toolwharf", "test"
	config.Registry, config.Executor = h.registry, h
	h.face = New(config)
	t.Cleanup(h.face.Close)
	return h
}

// eachWay runs a test over HTTP where every call takes the way through the SDK,
// and where plain calls take the direct one.
func eachWay(t *testing.T, config Config, test func(t *testing.T, h *host)) {
	t.Helper()
	for _, direct := range []bool{false, true} {
		t.Run(map[bool]string{false: "sdk", true: "direct"}[direct], func(t *testing.T) {
			config.HostChecked = direct
			h := newHost(t, config).serve()
			for _, era := range eras {
				h.answer(era, call(era, "echo", `{}`)) // makes its acquaintance
			}
			if got := len(h.face.clients.known); got != map[bool]int{false: 0, true: len(eras)}[direct] {
				t.Fatalf("%d acquaintances", got)
			}
			h.calls = nil
			test(t, h)
		})
	}
}

// serve puts the face behind a real HTTP server.
func (h *host) serve() *host {
	h.t.Helper()
	s := httptest.NewServer(h.face.Handler())
	h.t.Cleanup(s.Close)
	h.url = s.URL
	return h
}

func (h *host) replace(adapter string, specs ...tool.Spec) {
	h.t.Helper()
	var offers []*registry.Offer
	for _, s := range specs {
		s.Adapter = adapter
		s.Seal()
		offers = append(offers, &registry.Offer{Spec: s})
	}
	if _, err := h.registry.Replace(adapter, nobody{}, offers); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) Do(ctx context.Context, c *tool.Call) (tool.Outcome, error) {
	if _, ok := h.registry.Snapshot().Find(c.PublicName()); !ok {
		return nil, &executor.UnknownError{Op: c.Op, Name: c.Name}
	}
	h.mu.Lock()
	h.calls = append(h.calls, c)
	h.mu.Unlock()
	return h.run(ctx, c)
}

func (h *host) Reject(_ context.Context, _ *tool.Call, err *tool.Error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rejected = append(h.rejected, err)
	return err
}

func (h *host) Subscribe(_ context.Context, c *tool.Call) error {
	if _, ok := h.registry.Snapshot().Find(c.PublicName()); !ok || c.Name == "note://denied" {
		return &executor.UnknownError{Op: c.Op, Name: c.Name}
	}
	return nil
}

// last returns the last call that was run.
func (h *host) last() *tool.Call {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.calls) == 0 {
		h.t.Fatal("no call was run")
	}
	return h.calls[len(h.calls)-1]
}

// echo gives the arguments back.
func echo(_ context.Context, c *tool.Call) (tool.Outcome, error) {
	return &tool.Result{Structured: c.Args.Bytes()}, nil
}

func spec(name string) tool.Spec {
	return tool.Spec{
		Name: name, Declared: name, Description: "gives " + name, Effects: tool.ReadOnly,
		Input: json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}}}`),
	}
}

// message is a JSON-RPC message as it is on the wire.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// answer is a CallToolResult or ListToolsResult, with what tests look at.
type answer struct {
	ResultType string                     `json:"resultType"`
	Content    []map[string]any           `json:"content"`
	Structured json.RawMessage            `json:"structuredContent"`
	IsError    bool                       `json:"isError"`
	Meta       map[string]json.RawMessage `json:"_meta"`
	Tools      []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tools"`
	NextCursor string `json:"nextCursor"`
	TTL        *int   `json:"ttlMs"`
	CacheScope string `json:"cacheScope"`
}

func (a answer) text() string {
	var all []string
	for _, c := range a.Content {
		s, _ := c["text"].(string)
		all = append(all, s)
	}
	return strings.Join(all, "\n")
}

func (a answer) meta(key string) string {
	s, _ := textOf(a.Meta[key])
	return s
}

func decode[T any](t *testing.T, raw []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

// body writes a request of an era. extra are further members of _meta.
func body(era, method, params, extra string) string {
	meta := strings.TrimPrefix(extra, ",")
	if modern(era) {
		meta = `"io.modelcontextprotocol/protocolVersion":"` + era + `","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},` +
			`"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"7"}` + extra
	}
	if params != "" {
		params += ","
	}
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `"_meta":{` + meta + `}}}`
}

func call(era, name, arguments string) string {
	return body(era, methodCallTool, `"name":"`+name+`","arguments":`+arguments, "")
}

// post sends one request and returns the response and its body.
func (h *host) post(era, body string, headers ...string) (*http.Response, []byte) {
	h.t.Helper()
	req := h.request(h.t.Context(), era, body, headers...)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return res, raw
}

func (h *host) request(ctx context.Context, era, body string, headers ...string) *http.Request {
	h.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	setHeaders(req, era, body, headers...)
	return req
}

// do sends a request that may fail.
func (h *host) do(ctx context.Context, era, body string) (*http.Response, error) {
	return http.DefaultClient.Do(h.request(ctx, era, body))
}

func setHeaders(req *http.Request, era, body string, headers ...string) {
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", era)
	if modern(era) {
		e := readEnvelope([]byte(body))
		method, _ := textOf(e.method)
		req.Header.Set("Mcp-Method", method)
		if name, ok := textOf(e.name); ok {
			req.Header.Set(headerName, name)
		}
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
}

// ask sends one request and returns the message that answers it.
func (h *host) ask(era, body string, headers ...string) message {
	h.t.Helper()
	_, raw := h.post(era, body, headers...)
	return decode[message](h.t, raw)
}

// answer sends one request that has a result.
func (h *host) answer(era, body string, headers ...string) answer {
	h.t.Helper()
	m := h.ask(era, body, headers...)
	if m.Error != nil {
		h.t.Fatalf("error %d %s", m.Error.Code, m.Error.Message)
	}
	return decode[answer](h.t, m.Result)
}

// stream reads server-sent events.
type stream struct {
	t *testing.T
	r *bufio.Reader
}

// next returns the next message; false at the end of the stream.
func (s *stream) next() (message, bool) {
	s.t.Helper()
	for {
		line, err := s.r.ReadString('\n')
		if err != nil {
			return message{}, false
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			return decode[message](s.t, []byte(data)), true
		}
	}
}

// open sends a request whose answer is a stream.
func (h *host) open(ctx context.Context, body string) (*stream, *http.Response) {
	h.t.Helper()
	res, err := http.DefaultClient.Do(h.request(ctx, versionModern, body))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = res.Body.Close() })
	return &stream{h.t, bufio.NewReader(res.Body)}, res
}

// pipes is a face served over stdio.
type pipes struct {
	t     *testing.T
	in    io.WriteCloser
	out   *bufio.Reader
	ended chan error
	// closed is closed when ServeStdio returns, before anybody reads.
	closed chan struct{}
}

func (h *host) stdio(ctx context.Context) *pipes {
	h.t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &pipes{h.t, inW, bufio.NewReader(outR), make(chan error, 1), make(chan struct{})}
	go func() {
		err := h.face.ServeStdio(ctx, inR, outW)
		close(p.closed)
		_ = outW.Close()
		p.ended <- err
	}()
	h.t.Cleanup(func() { _ = inW.Close(); _ = inR.Close(); _ = outR.Close() })
	return p
}

func (p *pipes) send(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pipes) next() message {
	p.t.Helper()
	line, err := p.out.ReadBytes('\n')
	if err != nil {
		p.t.Fatalf("%v after %s", err, line)
	}
	return decode[message](p.t, line)
}

// connect returns the official client, connected in an era by either transport.
func (h *host) connect(era, transport string, options *mcpsdk.ClientOptions) *mcpsdk.ClientSession {
	h.t.Helper()
	client := mcpsdk.NewClient(&mcpsdk.Implementation{Name: "sdk", Version: "1"}, options)
	var t mcpsdk.Transport
	switch transport {
	case "http":
		t = &mcpsdk.StreamableClientTransport{Endpoint: h.url, DisableStandaloneSSE: true}
	case "stdio":
		p := h.stdio(context.Background())
		t = &mcpsdk.IOTransport{Reader: io.NopCloser(p.out), Writer: p.in}
	}
	s, err := client.Connect(h.t.Context(), t, &mcpsdk.ClientSessionOptions{ProtocolVersion: era})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = s.Close() })
	return s
}

// golden compares got with a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, got, "", "  "); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	pretty.WriteByte('\n')
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, pretty.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(want, pretty.Bytes()) {
		t.Errorf("%s differs:\n%s\nwant:\n%s", path, pretty.Bytes(), want)
	}
}

// record is a log that a test reads.
type record struct {
	mu sync.Mutex
	b  strings.Builder
}

func (r *record) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(b)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

func (r *record) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.b.Reset()
}

// logger logs everything.
func (r *record) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(r, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// within fails the test if what is awaited does not come.
func within[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("%s did not happen", what)
		panic("unreachable")
	}
}
