// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collector receives traces over OTLP/HTTP.
type collector struct {
	*httptest.Server

	mu    sync.Mutex
	spans []*tracev1.Span
	seen  string // of everything that came, as text
}

func collect(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		var m collectorv1.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(raw, &m)
		}
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("X-Tenant") != "t1" {
			t.Errorf("%s %v: %v", r.URL, r.Header, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.seen += m.String()
		for _, of := range m.GetResourceSpans() {
			for _, scope := range of.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

// of are the spans of a trace, once there are enough of them.
func (c *collector) of(t *testing.T, trace string, enough int) (spans []*tracev1.Span) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d spans of trace %s", enough, trace), func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		spans = nil
		for _, s := range c.spans {
			if hex.EncodeToString(s.GetTraceId()) == trace {
				spans = append(spans, s)
			}
		}
		if len(spans) < enough {
			return errors.New(c.seen)
		}
		return nil
	})
	return spans
}

func attributes(s *tracev1.Span) map[string]string {
	out := map[string]string{}
	for _, a := range s.GetAttributes() {
		out[a.GetKey()] = a.GetValue().GetStringValue()
	}
	return out
}

func TestOneTraceGoesThroughClientHostAndPlugin(t *testing.T) {
	t.Parallel()
	to := collect(t)
	dir, plugins := workspace(t, "rules: [{deny: [mischief_nothing]}]\n")
	install(t, "mischief", plugins)
	h := serveWith(t, dir, toolwharf, "OTEL_EXPORTER_OTLP_ENDPOINT="+to.URL, "OTEL_EXPORTER_OTLP_HEADERS=x-tenant=t1", "OTEL_BSP_SCHEDULE_DELAY=50")
	c := h.caller()
	const client = "b7ad6b7169203331"
	call := func(tool, trace string, inMeta bool) answer {
		id := int(c.last.Add(1))
		headers, body := modern(id, "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":{"text":"s3cret"}`, tool))
		parent := "00-" + trace + "-" + client + "-01"
		if inMeta {
			headers["traceparent"] = "00-" + strings.Repeat("f", 32) + "-" + client + "-01" // of whoever is between
			body = strings.Replace(body, `"_meta":{`, `"_meta":{"traceparent":"`+parent+`",`, 1)
		} else {
			headers["traceparent"] = parent
		}
		return c.post(t.Context(), id, headers, body)
	}
	for trace, inMeta := range map[string]bool{strings.Repeat("1", 32): true, strings.Repeat("2", 32): false} {
		a := call("mischief_trace", trace, inMeta)
		spans := to.of(t, trace, 2)
		if len(spans) != 2 {
			t.Fatalf("%d spans: %v", len(spans), spans)
		}
		host, adapter := spans[0], spans[1]
		if host.GetKind() != tracev1.Span_SPAN_KIND_SERVER {
			host, adapter = adapter, host
		}
		if got := hex.EncodeToString(host.GetParentSpanId()); got != client || host.GetName() != "tools/call mischief_trace" {
			t.Errorf("the host's span is %q below %s", host.GetName(), got)
		}
		if string(adapter.GetParentSpanId()) != string(host.GetSpanId()) || adapter.GetKind() != tracev1.Span_SPAN_KIND_CLIENT {
			t.Errorf("the adapter's span is %v below %x", adapter, host.GetSpanId())
		}
		if want := fmt.Sprintf("00-%s-%x-01", trace, adapter.GetSpanId()); a.text != want {
			t.Errorf("the plugin was told %s, want %s", a, want)
		}
		is := attributes(host)
		for key, want := range map[string]string{
			"mcp.method.name": "tools/call", "gen_ai.tool.name": "mischief_trace", "gen_ai.operation.name": "execute_tool",
			"mcp.protocol.version": "2026-07-28", "network.transport": "tcp", "toolwharf.adapter": "mischief", "toolwharf.outcome": "ok",
		} {
			if is[key] != want {
				t.Errorf("%s is %q, want %q", key, is[key], want)
			}
		}
		if !strings.HasPrefix(is["toolwharf.call.id"], "call_") {
			t.Errorf("attributes are %v", is)
		}
	}
	refused := strings.Repeat("3", 32)
	call("mischief_nothing", refused, true)
	if all := to.of(t, refused, 1); len(all) != 1 || all[0].GetStatus().GetCode() != tracev1.Status_STATUS_CODE_ERROR {
		t.Errorf("a call that is not there for its caller: %v", all)
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	if strings.Contains(to.seen, "s3cret") || !strings.Contains(to.seen, `"toolwharf"`) {
		t.Errorf("sent was %s", to.seen)
	}
}

func TestACollectorThatIsAwayCostsNoCall(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	h := serveWith(t, dir, toolwharf, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+freePort(t), "OTEL_BSP_SCHEDULE_DELAY=50", "OTEL_EXPORTER_OTLP_TIMEOUT=100")
	if a := h.caller().call(t.Context(), "echo_echo", `{"text":"x"}`); !a.ok() {
		t.Errorf("%s", a)
	}
	h.logs("toolwharf.traces", "warn", "traces", "")
}

func TestTracesThatCannotBeSentAreWarnedOf(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	h := serveWith(t, dir, toolwharf, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	h.logs("toolwharf", "warn", "NO TRACES are sent", "http/protobuf")
}
