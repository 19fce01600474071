// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// counted are metrics in which something of everything was counted.
func counted(t testing.TB) *Metrics {
	t.Helper()
	m := NewMetrics("1.2.3", func(context.Context) State {
		return State{
			Ready: true, Faults: 2, Stale: true, Pending: 3, States: []string{"ready", "failed"},
			Adapters: []AdapterState{{Name: "orders", State: "ready", Tools: 4, Crashes: 5, InFlight: 6, Waiting: 7, Memory: 8192}},
			Ledger:   LedgerState{Queued: 9, Written: 10, Lost: 11, Spooled: true},
		}
	})
	at := time.Unix(1, 0)
	m.Call(t.Context(), ledger.Row{
		Op: tool.OpTool, Tool: "orders_query", Adapter: "orders", Outcome: ledger.OK, Started: at, Ended: at.Add(3 * time.Millisecond),
		Principal: "s3cret-principal", Detail: "s3cret-detail", Run: "s3cret-run", Call: "s3cret-call",
	})
	m.Call(t.Context(), ledger.Row{
		Op: tool.OpResource, Tool: "resources:file:///s3cret", Adapter: "files", Outcome: ledger.Refused, Kind: tool.Denied, Started: at, Ended: at,
	})
	m.Request(t.Context(), "POST", "/mcp", 200, 20*time.Millisecond)
	m.Refused(t.Context(), "host-not-allowed")
	return m
}

func page(m *Metrics) string {
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func TestPrometheusIsShownWhatWasCounted(t *testing.T) {
	text := page(counted(t))
	for _, want := range []string{
		`toolwharf_calls_total{adapter="orders",kind="",op="tool",outcome="ok",tool="orders_query"} 1`,
		`toolwharf_calls_total{adapter="files",kind="denied",op="resource",outcome="refused",tool=""} 1`,
		`toolwharf_call_duration_seconds_bucket{adapter="orders",op="tool",outcome="ok",le="0.005"} 1`,
		`toolwharf_call_duration_seconds_count{adapter="files",op="resource",outcome="refused"} 1`,
		`http_server_request_duration_seconds_count{http_request_method="POST",http_response_status_code="200",http_route="/mcp"} 1`,
		`toolwharf_http_refusals_total{reason="host-not-allowed"} 1`,
		`toolwharf_ready 1`, `toolwharf_faults 2`, `toolwharf_config_stale 1`, `toolwharf_approvals_pending 3`,
		`toolwharf_adapter_state{adapter="orders",state="ready"} 1`, `toolwharf_adapter_state{adapter="orders",state="failed"} 0`,
		`toolwharf_adapter_tools{adapter="orders"} 4`, `toolwharf_adapter_crashes_total{adapter="orders"} 5`,
		`toolwharf_calls_in_flight{adapter="orders"} 6`, `toolwharf_calls_queued{adapter="orders"} 7`,
		`toolwharf_adapter_memory_bytes{adapter="orders"} 8192`,
		`toolwharf_ledger_queued 9`, `toolwharf_ledger_rows_total 10`, `toolwharf_ledger_lost_total 11`,
		`toolwharf_spool_waiting 1`, `toolwharf_disk_full 0`,
		`target_info{service_name="toolwharf",service_version="1.2.3"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("there is no %s", want)
		}
	}
	if strings.Contains(text, "s3cret") {
		t.Errorf("what calls are about is shown:\n%s", text)
	}
}

// described is a metric's name in a table of docs/production.md.
var described = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|")

func TestTheDocumentNamesEveryMetricAndNoOther(t *testing.T) {
	raw, err := os.ReadFile("../../../docs/production.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(raw), "\n## Metrics\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var told, is []string
	for _, m := range described.FindAllStringSubmatch(text, -1) {
		told = append(told, m[1])
	}
	for line := range strings.Lines(page(counted(t))) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, _, _ = strings.Cut(name, " ")
			if !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") {
				is = append(is, name)
			}
		}
	}
	slices.Sort(told)
	slices.Sort(is)
	if !slices.Equal(told, is) {
		t.Errorf("docs/production.md lists\n%s\nand there are\n%s", strings.Join(told, "\n"), strings.Join(is, "\n"))
	}
}

func TestTooManyNamesAreCountedTogether(t *testing.T) {
	m := counted(t)
	for n := range mostSeries + 100 {
		m.Call(t.Context(), ledger.Row{Op: tool.OpTool, Tool: fmt.Sprint("tool", n), Adapter: "orders", Outcome: ledger.OK})
	}
	text := page(m)
	if n := strings.Count(text, "\ntoolwharf_calls_total{"); n > mostSeries {
		t.Errorf("%d series", n)
	}
	if !strings.Contains(text, `toolwharf_calls_total{otel_metric_overflow="true"}`) {
		t.Error("nothing is counted together")
	}
}

func TestCountingACallAllocatesLittle(t *testing.T) {
	m := counted(t)
	row := ledger.Row{Op: tool.OpTool, Tool: "orders_query", Adapter: "orders", Outcome: ledger.OK}
	if n := testing.AllocsPerRun(100, func() { m.Call(t.Context(), row) }); n > 6 {
		t.Errorf("%v allocations", n)
	}
}
