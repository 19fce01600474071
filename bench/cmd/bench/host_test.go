// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/bench/internal/proc"
	"github.com/toolwharf/toolwharf/bench/internal/server"
)

// behaviour in its environment tells the stand-in for a host what to be like.
const behaviour = "BENCH_TEST_HOST"

// serveAsHost stands in for `toolwharf serve -c FILE`: it takes its address from
// the file and answers as a host with the echo plugin would, or as it must not.
func serveAsHost(args []string) {
	config, err := os.ReadFile(args[len(args)-1])
	if err != nil {
		panic(err)
	}
	how := os.Getenv(behaviour)
	if how == "refuses its config" {
		fmt.Fprintln(os.Stderr, "toolwharf.yaml:1: oh dear")
		os.Exit(2)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/list" {
			adapters := bytes.Count(config, []byte("plugin: echo"))
			tools := strings.TrimSuffix(strings.Repeat(`{"name":"x_count"},`, adapters), ",")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"tools":[%s]}}`, tools)
			return
		}
		if r.Header.Get("Mcp-Name") == server.SQLTool {
			answerRows(w, r)
			return
		}
		var req struct {
			ID     int64
			Params struct {
				Name      string
				Arguments struct{ Text string }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || req.Params.Name != "echo_echo" {
			http.Error(w, "not a call of echo_echo", http.StatusBadRequest)
			return
		}
		if how == "mixes up replies" {
			req.Params.Arguments.Text += "!"
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":%q}]}}`, req.ID, req.Params.Arguments.Text)
	})
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).Find(config)
	panic(http.ListenAndServe(string(address), mux))
}

func TestTheHostAgainstTheStockServer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		host, out, errs string
		code            int
	}{
		{host: "answers", out: "| 2 | toolwharf, isolated plugin |"},
		{host: "mixes up replies", code: exitFailed, errs: "a call failed"},
		{host: "refuses its config", code: exitFault, errs: "oh dear"},
	}
	for _, tt := range tests {
		t.Run("a host that "+tt.host, func(t *testing.T) {
			dir := t.TempDir()
			plugins := fakePlugins(t)
			t.Setenv("TMPDIR", dir)
			t.Setenv(behaviour, tt.host)
			var out, errs bytes.Buffer
			code := run(t.Context(), []string{"-host", self, "-plugin-dir", plugins, "-rounds", "1", "-slice", "50ms", "-clients", "2"}, &out, &errs)
			if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(errs.String(), tt.errs) {
				t.Errorf("exit %d, stdout %q, stderr %q", code, &out, &errs)
			}
			if code == 0 && !strings.Contains(out.String(), "### Start and idle memory\n\n| adapters |") {
				t.Errorf("nothing about the start in %q", &out)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
			if tree := proc.Tree(os.Getpid()); len(tree) > 1 {
				t.Errorf("left behind: %v", tree[1:])
			}
		})
	}
}
