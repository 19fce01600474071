// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/bench/internal/proc"
	"github.com/toolwharf/toolwharf/bench/internal/rpc"
)

func TestQuantile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	tests := []struct {
		name   string
		values []time.Duration
		q      float64
		want   time.Duration
	}{
		{"the median of 1 to 100", hundred, 0.50, 50},
		{"the 99th of 1 to 100", hundred, 0.99, 99},
		{"the median of three", []time.Duration{1, 2, 9}, 0.50, 2},
		{"the 99th of three is the largest", []time.Duration{1, 2, 9}, 0.99, 9},
		{"of one value it is that one", []time.Duration{4}, 0.50, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := quantile(tt.values, tt.q); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestSummarizeDividesByTheCalls(t *testing.T) {
	s := summarize([]time.Duration{3000, 1000, 2000, 4000}, 2*time.Second,
		proc.Usage{CPU: time.Second}, proc.Usage{CPU: 1200 * time.Millisecond, RSS: 5})
	want := Slice{Calls: 4, Seconds: 2, PerSecond: 2, P50: 2, P99: 4, CPU: 50_000, RSS: 5}
	if s != want {
		t.Errorf("got %+v, want %+v", s, want)
	}
	if s := summarize(nil, time.Second, proc.Usage{}, proc.Usage{}); s != (Slice{Seconds: 1}) {
		t.Errorf("no calls make %+v", s)
	}
}

// echo answers as an MCP server would, until it has answered as often as it is
// told to; then it answers with another text.
func echo(t *testing.T, good int64) Target {
	t.Helper()
	var calls atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			ID     int64
			Params struct{ Arguments struct{ Text string } }
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		if calls.Add(1) > good {
			req.Params.Arguments.Text = "spoilt"
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":%q}]}}`, req.ID, req.Params.Arguments.Text)
	}))
	t.Cleanup(srv.Close)
	return Target{Address: srv.Listener.Addr().String(), Path: "/mcp", PID: os.Getpid(), Tool: rpc.Echo("echo")}
}

func TestRunCountsTheCallsOfAllClients(t *testing.T) {
	s, err := Run(t.Context(), echo(t, 1<<40), 4, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if s.Calls == 0 || s.PerSecond <= 0 || s.P50 <= 0 || s.P99 < s.P50 {
		t.Errorf("slice is %+v", s)
	}
}

func TestRunEndsAtAFailedCall(t *testing.T) {
	tests := map[string]struct {
		good int64
		want string
	}{
		"the first of a client":   {1, "the first of client 2"},
		"one in the midst of all": {20, "spoilt"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Run(t.Context(), echo(t, tt.good), 2, time.Hour)
			var failed *CallError
			if !errors.As(err, &failed) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want a CallError with %q", err, tt.want)
			}
		})
	}
}
