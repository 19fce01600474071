// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package startup measures how long a host takes from its start to its first whole
// list of tools, and how much memory it and its adapters have when they are idle.
package startup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/bench/internal/proc"
	"github.com/toolwharf/toolwharf/bench/internal/rpc"
	"github.com/toolwharf/toolwharf/bench/internal/server"
)

// Counts are how many adapters hosts are started with.
var Counts = []int{1, 3, 10}

// Result is what hosts with so many adapters of one binary showed: medians.
type Result struct {
	Adapters int     `json:"adapters"`
	Sandbox  string  `json:"sandbox"` // what confines each
	Millis   float64 `json:"first_list_ms"`
	HostPSS  float64 `json:"host_pss_bytes"`     // 0: not to be had
	RestPSS  float64 `json:"adapters_pss_bytes"` // of all adapters, with what stands between
}

// settle is how long a host is left alone before it counts as idle.
const settle = time.Second

// Run starts a host several times with each number of adapters and each sandbox, by
// turns.
func Run(ctx context.Context, binary, plugin string, sandboxes []string, rounds int) ([]Result, error) {
	var results []Result
	for _, n := range Counts {
		all := make([]struct{ took, host, rest []float64 }, len(sandboxes))
		for range rounds {
			for i, sandbox := range sandboxes {
				r, err := once(ctx, binary, plugin, n, sandbox)
				if err != nil {
					return nil, fmt.Errorf("start with %d adapters, sandbox: %s: %w", n, sandbox, err)
				}
				a := &all[i]
				a.took, a.host, a.rest = append(a.took, r.Millis), append(a.host, r.HostPSS), append(a.rest, r.RestPSS)
			}
		}
		for i, a := range all {
			results = append(results, Result{n, sandboxes[i], median(a.took), median(a.host), median(a.rest)})
		}
	}
	return results, nil
}

func once(ctx context.Context, binary, plugin string, n int, sandbox string) (r Result, err error) {
	s, err := server.StartHost(ctx, binary, plugin, n, sandbox)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()
	if err := listed(ctx, s, n); err != nil {
		return r, err
	}
	r.Millis = float64(time.Since(s.Started).Microseconds()) / 1000
	select {
	case <-time.After(settle):
	case <-ctx.Done():
		return r, ctx.Err()
	}
	for i, p := range proc.Tree(s.PID()) {
		if i == 0 {
			r.HostPSS = float64(proc.PSS(p))
		} else {
			r.RestPSS += float64(proc.PSS(p))
		}
	}
	return r, nil
}

// listed asks for the tools until each adapter's are there.
func listed(ctx context.Context, s *server.Server, adapters int) error {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		got, err := list(ctx, s)
		if err != nil {
			return err
		}
		if n := strings.Count(got, `_count"`); n == adapters { // a tool that each of them has
			return nil
		}
	}
}

func list(ctx context.Context, s *server.Server) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.Address+s.Path, strings.NewReader(rpc.ListBody))
	if err != nil {
		return "", err
	}
	req.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {rpc.Version}, "Mcp-Method": {"tools/list"},
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	var reply struct {
		Result struct {
			Tools json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(body, &reply); err != nil || reply.Result.Tools == nil {
		return "", fmt.Errorf("tools/list: %s: %.200s", res.Status, body)
	}
	return string(reply.Result.Tools), nil
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}
