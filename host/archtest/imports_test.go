// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"slices"
	"strings"
	"testing"
)

// rule says what some packages may not import, directly or through others.
type rule struct {
	name  string
	who   []string
	but   []string // of who: the rule does not bind these
	only  []string // of ours they may import each other, these, and nothing else; nil = anything
	never []string // and these neither, ours or not
	why   string
}

// reservation says who alone may import some packages directly.
type reservation struct {
	name   string
	what   []string
	within []string // where it holds
	to     []string
	why    string
}

const (
	mcpSDK   = "github.com/modelcontextprotocol/go-sdk/..."
	goPlugin = "github.com/hashicorp/go-plugin/..."
	grpc     = "google.golang.org/grpc/..."
)

func drivers() []string {
	return []string{
		"github.com/ncruces/go-sqlite3/...", "modernc.org/sqlite/...", "github.com/mattn/go-sqlite3/...",
		"github.com/jackc/pgx/...", "github.com/lib/pq/...", "github.com/go-sql-driver/mysql/...",
	}
}

func gates() []string {
	return internal("rules/...", "approval/...", "limit/...", "hook/...", "cache/...", "redact/...", "kept/...")
}

func words() []string { return internal("tool/...", "schema/...") }

func rules() []rule {
	return []rule{
		{
			name: "proto", who: in("proto/..."), only: none(),
			why: "every language and every module stands on it",
		},
		{
			name: "tool", who: internal("tool/..."), only: none(), never: []string{grpc, mcpSDK, goPlugin},
			why: "its words are the same for every transport and store",
		},
		{
			name: "the Go SDK", who: in("sdk/go/..."), only: in("proto/..."), never: []string{mcpSDK, goPlugin},
			why: "a plugin knows the protocol, not the host; and its binary stays small",
		},
		{
			name: "plugins", who: in("plugins/..."), only: in("sdk/go/...", "proto/..."), never: []string{mcpSDK, goPlugin},
			why: "a built-in plugin can do nothing that another's plugin cannot",
		},
		{
			name: "host", who: in("host/..."), never: in("sdk/...", "plugins/..."),
			why: "plugins are programs of their own; what they do is not the host's",
		},
		{
			name: "gates", who: gates(), only: words(),
			never: append(drivers(), grpc, mcpSDK, goPlugin, "database/sql"),
			why:   "they judge a call without knowing where it came from or where it goes",
		},
		{
			name: "auth", who: internal("auth/..."), only: words(),
			never: append(drivers(), grpc, mcpSDK, goPlugin, "database/sql"),
			why:   "it tells who calls, whatever the call is and wherever it goes",
		},
		{
			name: "executor", who: internal("executor/..."),
			only:  slices.Concat(words(), gates(), internal("registry/...", "ledger/...")),
			never: append(drivers(), grpc, mcpSDK, goPlugin, "database/sql"),
			why:   "it declares the ports that it needs; adapters, stores and faces are behind them",
		},
		{
			name: "registry", who: internal("registry/..."), only: words(),
			why: "it holds runners and knows none",
		},
		{
			name: "adapters", who: internal("adapter/..."), never: internal("executor/...", "face/...", "task/..."),
			why: "calls flow from the executor to the adapter, never back",
		},
		{
			name: "faces", who: internal("face/..."), never: internal("adapter/...", "store/..."),
			why: "nothing reaches an adapter but through the executor",
		},
		{
			name: "stores", who: internal("store/..."), never: internal("face/...", "adapter/..."),
			why: "a store keeps what the executor and the ledger hand it",
		},
		{
			name: "examples", who: in("examples/..."), only: in("sdk/go/...", "proto/..."),
			why: "they show what anybody can do from outside",
		},
		{
			name: "bench", who: in("bench/..."), only: none(),
			why: "it measures binaries from outside",
		},
	}
}

func reservations() []reservation {
	return []reservation{
		{
			name: "go-plugin", what: []string{goPlugin}, within: in("host/..."),
			to:  internal("adapter/plugin/...", "adapter/process/..."),
			why: "its traps are avoided in one place",
		},
		{
			name: "the MCP SDK", what: []string{mcpSDK}, within: in("host/..."),
			to:  append(internal("face/mcp/...", "adapter/mcp/..."), ours+"host"),
			why: "protocol versions come and go; the rest does not notice",
		},
		{
			name: "database drivers", what: drivers(), within: in("host/..."), to: internal("store/..."),
			why: "what is durable, and how, is decided in one place",
		},
		{
			name: "OpenTelemetry", what: []string{"go.opentelemetry.io/...", "github.com/prometheus/..."},
			within: in("host/..."), to: append(internal("telemetry/..."), ours+"host/e2e"),
			why: "what is measured and traced is said in the words of the host",
		},
		{
			name: "app", what: internal("app/..."), within: in("host/..."),
			to:  append(in("host", "host/cmd/..."), internal("app/...")...),
			why: "it knows every other package, so nobody may know it",
		},
		{
			name: "the protocol", what: in("proto/..."), within: in("plugins/...", "examples/..."), to: none(),
			why: "plugins are written with the SDK",
		},
	}
}

// in makes patterns of paths in the repository, internal of those in the host's
// internal folder; none is a list that has nothing, and is there.
func in(paths ...string) []string {
	full := make([]string, len(paths))
	for i, p := range paths {
		full[i] = ours + p
	}
	return full
}

func internal(paths ...string) []string {
	full := make([]string, len(paths))
	for i, p := range paths {
		full[i] = ours + "host/internal/" + p
	}
	return full
}

func none() []string { return []string{} }

// breaches are the chains by which packages of the graph break a rule: the
// shortest of each package.
func (r rule) breaches(g graph) [][]string {
	forbidden := func(path string) bool {
		if matches(path, r.never) {
			return true
		}
		return r.only != nil && strings.HasPrefix(path, ours) && !matches(path, r.only) && !matches(path, r.who)
	}
	// What a bound package does is said of that one, not of all that import it.
	bound := func(path string) bool { return matches(path, r.who) && !matches(path, r.but) }
	var chains [][]string
	for _, path := range g.own() {
		if !bound(path) {
			continue
		}
		if chain := g.chain(path, forbidden, bound); chain != nil {
			chains = append(chains, chain)
		}
	}
	return chains
}

// breaches are the imports that a reservation forbids.
func (r reservation) breaches(g graph) [][]string {
	var chains [][]string
	for _, path := range g.own() {
		if !matches(path, r.within) || matches(path, r.to) {
			continue
		}
		for _, imported := range g[path].Imports {
			if matches(imported, r.what) {
				chains = append(chains, []string{path, imported})
			}
		}
	}
	return chains
}

func show(chain []string) string {
	short := make([]string, len(chain))
	for i, path := range chain {
		short[i] = strings.TrimPrefix(path, ours)
	}
	return strings.Join(short, " -> ")
}

func TestPackagesImportWhatTheyMay(t *testing.T) {
	g := load(t)
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			for _, chain := range r.breaches(g) {
				t.Errorf("%s\n\tmay not be: %s", show(chain), r.why)
			}
		})
	}
}

func TestReservedPackagesAreImportedWhereTheyMay(t *testing.T) {
	g := load(t)
	for _, r := range reservations() {
		t.Run(r.name, func(t *testing.T) {
			for _, chain := range r.breaches(g) {
				t.Errorf("%s\n\tmay not be: %s", show(chain), r.why)
			}
		})
	}
}

// sketch makes a graph of lines "a: b c": a imports b and c.
func sketch(lines ...string) graph {
	g := graph{}
	full := func(path string) string {
		if first, _, _ := strings.Cut(path, "/"); strings.Contains(first, ".") || first == "database" {
			return path
		}
		return ours + path
	}
	for _, line := range lines {
		from, to, _ := strings.Cut(line, ":")
		p := &pkg{ImportPath: full(from)}
		for path := range strings.FieldsSeq(to) {
			p.Imports = append(p.Imports, full(path))
		}
		g.add(p)
	}
	return g
}

// A rule that nothing can break holds nothing.
func TestEachRuleCanBeBroken(t *testing.T) {
	tests := []struct {
		rule   string
		breach []string
		chain  string
	}{
		{"proto", []string{"proto/v1: sdk/go"}, "proto/v1 -> sdk/go"},
		{"tool", []string{"host/internal/tool: host/internal/schema"}, "host/internal/tool -> host/internal/schema"},
		{"the Go SDK", []string{"sdk/go: sdk/go/internal/x", "sdk/go/internal/x: host/conform"}, "sdk/go/internal/x -> host/conform"},
		{"plugins", []string{"plugins/sql: x.org/y", "x.org/y: github.com/hashicorp/go-plugin"}, "plugins/sql -> x.org/y -> github.com/hashicorp/go-plugin"},
		{"host", []string{"host/internal/app: sdk/go"}, "host/internal/app -> sdk/go"},
		{
			"gates",
			[]string{"host/internal/rules: host/internal/schema", "host/internal/schema: x.org/y", "x.org/y: google.golang.org/grpc/codes"},
			"host/internal/rules -> host/internal/schema -> x.org/y -> google.golang.org/grpc/codes",
		},
		{"gates", []string{"host/internal/limit: database/sql"}, "host/internal/limit -> database/sql"},
		{"auth", []string{"host/internal/auth: host/internal/face/mcp"}, "host/internal/auth -> host/internal/face/mcp"},
		{"executor", []string{"host/internal/executor: host/internal/store/sqlite"}, "host/internal/executor -> host/internal/store/sqlite"},
		{"registry", []string{"host/internal/registry: host/internal/adapter/life"}, "host/internal/registry -> host/internal/adapter/life"},
		{"adapters", []string{"host/internal/adapter/mcp: host/internal/executor"}, "host/internal/adapter/mcp -> host/internal/executor"},
		{
			"faces",
			[]string{"host/internal/face/mcp: host/internal/ledger", "host/internal/ledger: host/internal/adapter/life"},
			"host/internal/face/mcp -> host/internal/ledger -> host/internal/adapter/life",
		},
		{"stores", []string{"host/internal/store/sqlite: host/internal/face/mcp"}, "host/internal/store/sqlite -> host/internal/face/mcp"},
		{"examples", []string{"examples/echo: host"}, "examples/echo -> host"},
		{"bench", []string{"bench/cmd/bench: host"}, "bench/cmd/bench -> host"},
		{"go-plugin", []string{"host/internal/app: github.com/hashicorp/go-plugin"}, "host/internal/app -> github.com/hashicorp/go-plugin"},
		{
			"the MCP SDK",
			[]string{"host/internal/face/control: github.com/modelcontextprotocol/go-sdk/mcp"},
			"host/internal/face/control -> github.com/modelcontextprotocol/go-sdk/mcp",
		},
		{"database drivers", []string{"host/internal/ledger: github.com/jackc/pgx/v5"}, "host/internal/ledger -> github.com/jackc/pgx/v5"},
		{"OpenTelemetry", []string{"host/internal/executor: go.opentelemetry.io/otel/trace"}, "host/internal/executor -> go.opentelemetry.io/otel/trace"},
		{"app", []string{"host/internal/face/mcp: host/internal/app"}, "host/internal/face/mcp -> host/internal/app"},
		{"the protocol", []string{"plugins/sql: proto/v1"}, "plugins/sql -> proto/v1"},
	}
	tried := map[string]bool{}
	for _, tt := range tests {
		tried[tt.rule] = true
		t.Run(tt.rule, func(t *testing.T) {
			g := sketch(tt.breach...)
			var got []string
			for _, r := range rules() {
				if r.name == tt.rule {
					for _, chain := range r.breaches(g) {
						got = append(got, show(chain))
					}
				}
			}
			for _, r := range reservations() {
				if r.name == tt.rule {
					for _, chain := range r.breaches(g) {
						got = append(got, show(chain))
					}
				}
			}
			if len(got) != 1 || got[0] != tt.chain {
				t.Errorf("chains are %q, want %q", got, tt.chain)
			}
		})
	}
	for _, r := range rules() {
		if !tried[r.name] {
			t.Errorf("nothing breaks %q", r.name)
		}
	}
	for _, r := range reservations() {
		if !tried[r.name] {
			t.Errorf("nothing breaks %q", r.name)
		}
	}
}

func TestWhatRulesAllowPasses(t *testing.T) {
	g := sketch(
		"proto/v1: google.golang.org/grpc", "sdk/go: proto/v1 google.golang.org/grpc",
		"plugins/sql: sdk/go plugins/sql/internal/x github.com/jackc/pgx/v5", "plugins/sql/internal/x: database/sql",
		"examples/echo: sdk/go", "bench/cmd/bench: bench/internal/x github.com/modelcontextprotocol/go-sdk/mcp",
		"host: host/internal/app github.com/modelcontextprotocol/go-sdk/mcp", "host/cmd/toolwharf: host/internal/app",
		"host/internal/app: host/internal/face/mcp host/internal/executor host/internal/adapter/plugin host/internal/store/sqlite",
		"host/internal/executor: host/internal/tool host/internal/rules host/internal/registry host/internal/ledger",
		"host/internal/rules: host/internal/tool host/internal/schema", "host/internal/schema: host/internal/tool",
		"host/internal/registry: host/internal/tool", "host/internal/ledger: host/internal/tool",
		"host/internal/face/mcp: host/internal/executor github.com/modelcontextprotocol/go-sdk/mcp",
		"host/internal/adapter/plugin: host/internal/tool proto/v1 github.com/hashicorp/go-plugin google.golang.org/grpc",
		"host/internal/store/sqlite: host/internal/executor host/internal/ledger github.com/ncruces/go-sqlite3",
	)
	for _, r := range rules() {
		for _, chain := range r.breaches(g) {
			t.Errorf("%s: %s", r.name, show(chain))
		}
	}
	for _, r := range reservations() {
		for _, chain := range r.breaches(g) {
			t.Errorf("%s: %s", r.name, show(chain))
		}
	}
}
