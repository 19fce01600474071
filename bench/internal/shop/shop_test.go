// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package shop

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/toolwharf/toolwharf/bench/internal/rpc"
)

var two = Orders{{7, 49, "2024-01-02T17:01:46Z", "delivered", 68130}, {8, 1, "2024-01-03T00:00:00Z", "placed", 5}}

func TestReadGivesEveryOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.db")
	db, err := sqlite3.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Exec(`CREATE TABLE orders (total, id INTEGER PRIMARY KEY, customer_id, placed_at, status);
		INSERT INTO orders VALUES (68130, 7, 49, '2024-01-02T17:01:46Z', 'delivered'), (5, 8, 1, '2024-01-03T00:00:00Z', 'placed')`)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Read(file); err != nil || !slices.Equal(got, two) {
		t.Errorf("%v, %v", got, err)
	}
	if err := db.Exec("DELETE FROM orders"); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(file); err == nil || !strings.Contains(err.Error(), "no orders") {
		t.Errorf("of none: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestReadDoesNotMakeTheFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none.db")
	if _, err := Read(file); err == nil || !strings.Contains(err.Error(), "none.db") {
		t.Errorf("error is %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("it is there now")
	}
}

func TestCallsAskForEveryOrder(t *testing.T) {
	asked := map[int64]int{}
	for id := range int64(1000) {
		asked[two.of(id).ID]++
	}
	if asked[7] < 300 || asked[8] < 300 {
		t.Errorf("asked for %v", asked)
	}
}

// TestToolsAskForARowAndKnowIt has texts as the servers have sent them.
func TestToolsAskForARowAndKnowIt(t *testing.T) {
	one := two[:1]
	tests := map[string]struct {
		tool            rpc.Tool
		arguments, sent string
	}{
		"the sql plugin": {
			one.Query("shop_query", "?"),
			`{"sql":"SELECT id, customer_id, placed_at, status, total FROM orders WHERE id = ?","params":[7]}`,
			`{"columns":["id","customer_id","placed_at","status","total"],"rows":[{"id":7,"customer_id":49,"placed_at":"2024-01-02T17:01:46Z","status":"delivered","total":68130}],"row_count":1,"truncated":false}`,
		},
		"MCP Toolbox": {
			one.Fixed("order_by_id"), `{"id":7}`,
			`{"id":7,"customer_id":49,"placed_at":"2024-01-02T17:01:46Z","status":"delivered","total":68130}`,
		},
		"dbhub": {
			one.ExecuteSQL("execute_sql"),
			`{"sql":"SELECT id, customer_id, placed_at, status, total FROM orders WHERE id = 7"}`,
			"{\n  \"success\": true,\n  \"data\": {\n    \"statements\": [\n      {\n        \"sql\": \"SELECT\",\n        \"rows\": [\n          {\n            \"id\": 7,\n            \"customer_id\": 49,\n            \"placed_at\": \"2024-01-02T17:01:46Z\",\n            \"status\": \"delivered\",\n            \"total\": 68130\n          }\n        ],\n        \"count\": 1\n      }\n    ],\n    \"source_id\": \"shop\"\n  }\n}",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			arguments := tt.tool.Arguments(nil, 3)
			if !json.Valid(arguments) || string(arguments) != tt.arguments {
				t.Errorf("arguments are %s", arguments)
			}
			text := string(tt.tool.Text(nil, 3))
			if knows := text == tt.sent || tt.tool.Within && strings.Contains(tt.sent, text); !knows {
				t.Errorf("waits for %q, which is not in %q", text, tt.sent)
			}
			if other := strings.Replace(tt.sent, "68130", "68131", 1); strings.Contains(other, text) {
				t.Error("takes a row with another total")
			}
		})
	}
}
