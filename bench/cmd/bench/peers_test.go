// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/bench/internal/proc"
	"github.com/toolwharf/toolwharf/bench/internal/server"
)

// row is the only one of the shop of these tests.
const row = `{"id":7,"customer_id":49,"placed_at":"2024-01-02T17:01:46Z","status":"delivered","total":68130}`

// texts are what servers say that have been asked for it, by tool.
var texts = map[string]string{
	server.SQLTool:     `{"columns":[],"rows":[` + row + `],"row_count":1,"truncated":false}`,
	server.ToolboxTool: row,
	server.DBHubTool:   `{"statements":[{"rows":[` + row + `],"count":1}]}`,
}

// serveAsPeer stands in for MCP Toolbox and for dbhub, which have an argument
// --port in common.
func serveAsPeer(args []string) {
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", answerRows)
	address := net.JoinHostPort("127.0.0.1", args[slices.Index(args, "--port")+1])
	panic(http.ListenAndServe(address, mux))
}

// answerRows answers calls as servers of the shop do, or as they must not.
func answerRows(w http.ResponseWriter, r *http.Request) {
	var req struct {
		ID     int64
		Params struct{ Name string }
	}
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text := texts[req.Params.Name]
	if req.Params.Name == server.DBHubTool {
		var spread bytes.Buffer
		_ = json.Indent(&spread, []byte(`{"data":`+text+`}`), "", "  ")
		text = spread.String()
	}
	if os.Getenv("TMPDIR") != os.Getenv("HOME") { // the host: peers have a home of their own
		text = strings.Replace(text, "68130", os.Getenv(total), 1)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":%q}]}}`, req.ID, text)
}

// total in its environment tells the stand-in for a host the total of the row.
const total = "BENCH_TEST_TOTAL"

// peered is a directory with stand-ins for the peers, a plugin and a shop: the
// flags for them.
func peered(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	wanted, _ := server.FindPeers(dir)
	for _, file := range []string{wanted.Toolbox, wanted.DBHub, wanted.Node} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(self, file); err != nil {
			t.Skip(err)
		}
	}
	file := filepath.Join(dir, "shop.db")
	db, err := sqlite3.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Exec(`CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id, placed_at, status, total);
		INSERT INTO orders VALUES (7, 49, '2024-01-02T17:01:46Z', 'delivered', 68130)`)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	sql := filepath.Join(fakePlugins(t), executable("echo"))
	return []string{"-host", self, "-peers", dir, "-sql", sql, "-shop", file, "-only-peers", "-rounds", "1", "-slice", "50ms", "-clients", "2"}
}

func TestTheSQLPluginAgainstPeers(t *testing.T) {
	tests := map[string]struct {
		total, out, errs string
		code             int
	}{
		"a host that answers":               {total: "68130", out: "### A row of SQLite: the first call\n\n| server |"},
		"a host that answers with anything": {total: "68131", code: exitFailed, errs: "a call failed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			flags := peered(t)
			dir := t.TempDir()
			t.Setenv("TMPDIR", dir)
			t.Setenv(total, tt.total)
			var out, errs bytes.Buffer
			code := run(t.Context(), flags, &out, &errs)
			if code != tt.code || !strings.Contains(out.String(), tt.out) || !strings.Contains(errs.String(), tt.errs) {
				t.Fatalf("exit %d, stdout %q, stderr %q", code, &out, &errs)
			}
			if code == 0 {
				for _, want := range []string{"| 2 | toolwharf, sql plugin |", "| 2 | MCP Toolbox |", "| 2 | dbhub |", "toolwharf, sql plugin / dbhub, round by round"} {
					if !strings.Contains(out.String(), want) {
						t.Errorf("no %q in\n%s", want, &out)
					}
				}
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

func TestWherePeersAreMissingTheRestIsMeasuredAndThatIsSaid(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{
		"-host", self, "-plugin-dir", fakePlugins(t), "-rounds", "1", "-slice", "50ms", "-clients", "2", "-peers", t.TempDir(),
	}, &out, &errs)
	if code != 0 || !strings.Contains(out.String(), "Echo of 16 bytes") || strings.Contains(out.String(), "SQLite") {
		t.Errorf("exit %d, stdout %q", code, &out)
	}
	if !strings.Contains(errs.String(), "LEFT OUT: MCP Toolbox and dbhub") || !strings.Contains(errs.String(), "npm ci") {
		t.Errorf("stderr %q", &errs)
	}
	if code := run(t.Context(), []string{"-peers", t.TempDir(), "-only-peers"}, &out, &errs); code != exitFault {
		t.Errorf("with nothing else to measure: exit %d", code)
	}
}
