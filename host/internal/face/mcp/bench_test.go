// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// echoing runs every call without an executor.
type echoing struct{}

func (echoing) Do(ctx context.Context, c *tool.Call) (tool.Outcome, error) { return echo(ctx, c) }

func (echoing) Reject(_ context.Context, _ *tool.Call, err *tool.Error) error { return err }

// newEchoing returns a face with an echo tool, and the SDK's own server with the
// same: a raw handler, one text block.
func newEchoing(b *testing.B, tools int) (face, bare http.Handler) {
	b.Helper()
	r := registry.New()
	offers := make([]*registry.Offer, 0, tools)
	for i := range tools {
		s := spec(fmt.Sprintf("tool%05d", i))
		if i == 0 {
			s = spec("echo")
		}
		s.Adapter = "a"
		s.Seal()
		offers = append(offers, &registry.Offer{Spec: s})
	}
	if _, err := r.Replace("a", nobody{}, offers); err != nil {
		b.Fatal(err)
	}
	f := New(Config{Name: "toolwharf", Version: "1", Registry: r, Executor: echoing{}, HostChecked: true})
	b.Cleanup(f.Close)
	s := mcpsdk.NewServer(&mcpsdk.Implementation{Name: "bare", Version: "1"}, &mcpsdk.ServerOptions{PageSize: 1000})
	for _, o := range offers {
		s.AddTool(&mcpsdk.Tool{Name: o.Spec.Name, Description: o.Spec.Description, InputSchema: o.Spec.Input},
			func(_ context.Context, req *mcpsdk.CallToolRequest) (*mcpsdk.CallToolResult, error) {
				return &mcpsdk.CallToolResult{
					StructuredContent: req.Params.Arguments,
					Content:           []mcpsdk.Content{&mcpsdk.TextContent{Text: string(req.Params.Arguments)}},
				}, nil
			})
	}
	return f.Handler(), mcpsdk.NewStreamableHTTPHandler(func(*http.Request) *mcpsdk.Server { return s },
		&mcpsdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true, PropagateRequestCancellation: true})
}

func (echoing) Subscribe(context.Context, *tool.Call) error { return nil }

// through measures one request.
func through(b *testing.B, h http.Handler, era, body string) {
	b.Helper()
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		req, _ := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
		setHeaders(req, era, body)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != http.StatusOK || w.Body.Len() < 50 {
			b.Fatalf("%d %s", w.Code, w.Body)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	face, bare := newEchoing(b, 1)
	for _, era := range eras {
		for _, size := range []int{9, 10 << 10, 1 << 19} {
			req := call(era, "echo", `{"s":"`+strings.Repeat("x", size)+`"}`)
			b.Run(fmt.Sprintf("%s/%d/face", era, size), func(b *testing.B) { through(b, face, era, req) })
			b.Run(fmt.Sprintf("%s/%d/bare", era, size), func(b *testing.B) { through(b, bare, era, req) })
		}
	}
	b.Run("floor", func(b *testing.B) { // what the benchmark itself costs
		through(b, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, 300))
		}), versionModern, call(versionModern, "echo", `{"s":"xxxxxxxxx"}`))
	})
}

func BenchmarkCallAmongTenThousandTools(b *testing.B) {
	face, _ := newEchoing(b, 10_000)
	through(b, face, versionModern, call(versionModern, "echo", `{"s":"xxxxxxxxx"}`))
}

func BenchmarkListOfAThousand(b *testing.B) {
	face, bare := newEchoing(b, 1000)
	req := body(versionModern, methodListTools, "", "")
	b.Run("face", func(b *testing.B) { through(b, face, versionModern, req) })
	b.Run("bare", func(b *testing.B) { through(b, bare, versionModern, req) })
}

func BenchmarkResult(b *testing.B) {
	structured := json.RawMessage(`{"rows":[` + strings.TrimSuffix(strings.Repeat(`{"id":"ORD-1","n":1.10},`, 40), ",") + `]}`)
	b.ReportAllocs()
	for b.Loop() {
		r, _ := resultOf(&tool.Result{Structured: structured}, false)
		if raw, _ := r.MarshalJSON(); len(raw) < 1000 {
			b.Fatal(len(raw))
		}
	}
}
