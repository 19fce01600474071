// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const before = `
instructions: be kind
rules: [{deny: ["x_*"]}]
defaults: {additive: deny}
approval: {mode: deferred, expires: 5m}
adapters:
  orders: {plugin: sql, config: {dsn: a}, env: {A: "1"}}
  stock: {plugin: sql, sandbox: auto}
http: {listen: "127.0.0.1:9000"}
`

func TestAReloadNamesWhatChangesAndKeepsWhatNeedsARestart(t *testing.T) {
	for name, tc := range map[string]struct {
		old, new         string
		changed, restart []string
	}{
		"nothing":              {"", "", nil, nil},
		"a comment":            {"rules:", "# why\nrules:", nil, nil},
		"a rule":               {`"x_*"`, `"y_*"`, []string{"rules"}, nil},
		"one rule more":        {`[{deny: ["x_*"]}]`, `[{deny: ["x_*"]}, {allow: ["z"]}]`, []string{"rules"}, nil},
		"a default":            {"additive: deny", "additive: allow", []string{"defaults.additive"}, nil},
		"the instructions":     {"be kind", "be brief", []string{"instructions"}, nil},
		"an adapter's config":  {"dsn: a", "dsn: b", []string{"adapters.orders.config"}, nil},
		"an adapter's env":     {`A: "1"`, `A: "2"`, []string{"adapters.orders.env"}, nil},
		"an adapter more":      {"  stock:", "  third: {plugin: sql}\n  stock:", []string{"adapters.third"}, nil},
		"an adapter less":      {"  stock: {plugin: sql, sandbox: auto}\n", "", []string{"adapters.stock"}, nil},
		"a sandbox":            {"sandbox: auto", "sandbox: off", nil, []string{"adapters.stock.sandbox.mode"}},
		"the listen address":   {":9000", ":9001", nil, []string{"http.listen"}},
		"who may call":         {":9000\"", ":9000\", allow_anonymous: true", nil, []string{"http.allow_anonymous"}},
		"the approval":         {"expires: 5m", "expires: 6m", nil, []string{"approval.expires"}},
		"the state":            {"rules:", "state: elsewhere\nrules:", nil, []string{"state"}},
		"the name, and a rule": {`rules: [{deny: ["x_*"]}]`, "name: other", []string{"rules"}, []string{"name"}},
	} {
		t.Run(name, func(t *testing.T) {
			running := mustParse(t, before)
			file := mustParse(t, strings.Replace(before, tc.old, tc.new, 1))
			if tc.old != "" && !strings.Contains(before, tc.old) {
				t.Fatal("nothing to replace")
			}
			r := running.Reload(file)
			if diff := cmp.Diff(tc.changed, r.Changed); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.restart, r.Restart); diff != "" {
				t.Errorf("restart (-want +got):\n%s", diff)
			}
			again := r.Config.Reload(file)
			if len(again.Changed) > 0 || !slices.Equal(again.Restart, tc.restart) {
				t.Errorf("the same file again: %+v", again)
			}
			if back := r.Config.Reload(running); len(back.Restart) > 0 || !slices.Equal(back.Changed, tc.changed) {
				t.Errorf("the old file again: %v, %v", back.Changed, back.Restart)
			}
			if fresh := mustParse(t, before).Reload(running); len(fresh.Changed)+len(fresh.Restart) > 0 {
				t.Errorf("what was running was changed: %+v", fresh)
			}
		})
	}
}

// live are the keys that change while the host runs. A new key belongs here or
// into onlyByRestart.
var live = []string{"instructions", "plugins", "adapters", "mcpServers", "rules", "defaults", "hooks", "limits"}

func TestOfEveryKeyItIsSaidWhetherItNeedsARestart(t *testing.T) {
	for f := range reflect.TypeFor[Config]().Fields() {
		key := keyOf(f)
		if key != "" && slices.Contains(live, key) == slices.Contains(onlyByRestart, key) {
			t.Errorf("%s changes live or by a restart: say which", key)
		}
	}
	known := map[string]bool{}
	fields(t, reflect.TypeFor[Config](), loadContract().root, "", known)
	for _, key := range onlyByRestart {
		if !known[key] {
			t.Errorf("%s is no key", key)
		}
	}
}

func mustParse(t *testing.T, text string) *Config {
	t.Helper()
	c, faults := Parse("toolwharf.yaml", []byte(text), t.TempDir()[:1])
	if c == nil {
		t.Fatal(faults)
	}
	return c
}
