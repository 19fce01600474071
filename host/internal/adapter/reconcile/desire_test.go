// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/catalog"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func TestAConfiguredAdapterIsItsPluginWithItsSecretsFilledIn(t *testing.T) {
	f := newFixture([]Adapter{{
		Name: "orders", Plugin: "sql", Prefix: "o.", Limits: limits,
		Config: map[string]any{"dsn": "db://${USER}:${PASSWORD}@x", "n": json.Number("9007199254740993"), "list": []any{"${USER}", true, nil}},
		Env:    map[string]string{"TZ": "UTC", "TOKEN": "x-${PASSWORD}"},
		MayAsk: true, AllowURLs: true, PassPrincipal: true,
		Locate: func(string) string { return "here" },
	}})
	f.secrets.set("USER", "ann")
	f.secrets.set("PASSWORD", `hunter"2`)
	desired, waiting, missing, notes := f.desire(contents("sql"))
	if len(waiting) != 0 || missing || len(notes) != 0 || len(desired) != 1 {
		t.Fatalf("desired %v, waiting %v, missing %v, notes %q", desired, waiting, missing, notes)
	}
	got := desired["orders"]
	if got.Locate == nil || got.Locate("") != "here" {
		t.Error("nobody knows where its configuration stands")
	}
	got.Locate = nil
	want := &adapter.Desired{
		Name: "orders", Program: adapter.Program{Plugin: "sql", Path: "/p/sql", Stamp: "1"}, Prefix: "o.",
		Config:     []byte(`{"dsn":"db://ann:hunter\"2@x","list":["ann",true,null],"n":9007199254740993}`),
		Configured: true, MayAsk: true, AllowURLs: true, PassPrincipal: true, Env: map[string]string{"TZ": "UTC", "TOKEN": `x-hunter"2`}, Dir: "/d", Limits: limits,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestADroppedInPluginIsAnAdapterOfItsOwnName(t *testing.T) {
	f := newFixture(nil)
	desired, waiting, _, _ := f.desire(contents("echo"))
	want := map[string]*adapter.Desired{"echo": {
		Name: "echo", Program: adapter.Program{Plugin: "echo", Path: "/p/echo", Stamp: "1"}, Prefix: "echo_", Dir: "/d", Limits: limits,
	}}
	if diff := cmp.Diff(want, desired); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(waiting) != 0 {
		t.Errorf("waiting %v", waiting)
	}
}

func TestWhatIsDesiredAndWhatHasToWait(t *testing.T) {
	empty := map[string]any{}
	named := func(name, plugin, prefix string) Adapter {
		return Adapter{Name: name, Plugin: plugin, Prefix: prefix, Config: empty}
	}
	builtin := contents("sql")
	builtin.Plugins[0].DropIn = false
	for name, tc := range map[string]struct {
		adapters []Adapter
		contents *catalog.Contents
		desired  []string
		waiting  map[string]string // name to reason
		missing  bool              // a secret
		notes    []string
	}{
		"a plugin that is not there": {
			adapters: []Adapter{named("orders", "sql", "orders_")}, contents: contents("rest"),
			desired: []string{"rest"}, waiting: map[string]string{"orders": "there is no plugin sql in /a, /b"},
		},
		"a secret of the configuration that is not set": {
			adapters: []Adapter{{Name: "orders", Plugin: "sql", Prefix: "orders_", Config: map[string]any{"dsn": "${DSN}", "file": "${file:/k}"}}},
			contents: contents("sql"), missing: true,
			waiting: map[string]string{"orders": "secret missing: ${DSN} is not set, ${file:/k}: no such file"},
		},
		"secrets of its variables that are not set": {
			adapters: []Adapter{{Name: "orders", Plugin: "sql", Prefix: "orders_", Config: empty, Env: map[string]string{"B": "${TOKEN_B}", "A": "${TOKEN_A}"}}},
			contents: contents("sql"), missing: true,
			waiting: map[string]string{"orders": "secret missing: ${TOKEN_A} is not set, ${TOKEN_B} is not set"},
		},
		"a reference that cannot be read": {
			adapters: []Adapter{{Name: "orders", Plugin: "sql", Prefix: "orders_", Config: map[string]any{"dsn": "x${"}}},
			contents: contents("sql"),
			waiting:  map[string]string{"orders": "config: /dsn: character 2: "},
		},
		"such a reference in a variable": {
			adapters: []Adapter{{Name: "orders", Plugin: "sql", Prefix: "orders_", Config: empty, Env: map[string]string{"A": "${"}}},
			contents: contents("sql"),
			waiting:  map[string]string{"orders": "env.A: character 1: "},
		},
		"a fault of one adapter costs the others nothing": {
			adapters: []Adapter{named("orders", "sql", "orders_"), named("shop", "rest", "shop_")}, contents: contents("rest"),
			desired: []string{"shop"}, waiting: map[string]string{"orders": "there is no plugin sql in /a, /b"},
		},
		"two adapters of one plugin": {
			adapters: []Adapter{named("orders", "sql", "orders_"), named("stock", "sql", "stock_")}, contents: contents("sql"),
			desired: []string{"orders", "stock"},
		},
		"a plugin that an adapter names is not dropped in": {
			adapters: []Adapter{named("orders", "echo", "orders_")}, contents: contents("echo"),
			desired: []string{"orders"},
		},
		"nor if that adapter has to wait": {
			adapters: []Adapter{{Name: "orders", Plugin: "echo", Prefix: "orders_", Config: map[string]any{"a": "${A}"}}}, contents: contents("echo"),
			waiting: map[string]string{"orders": "secret missing: ${A} is not set"}, missing: true,
		},
		"a built-in plugin that nobody names": {contents: builtin},
		"a drop-in with the name of an adapter of another plugin": {
			adapters: []Adapter{named("echo", "sql", "e_")}, contents: contents("echo", "sql"),
			desired: []string{"echo"}, notes: []string{"/p/echo is left out: an adapter that runs another plugin is named echo"},
		},
		"a drop-in whose prefix is that of an adapter": {
			adapters: []Adapter{named("orders", "sql", "echo_")}, contents: contents("echo", "sql"),
			desired: []string{"orders"},
			waiting: map[string]string{"echo": `its prefix "echo_" and that of adapter orders begin alike; name it under adapters: with another prefix`},
		},
		"a drop-in whose prefix extends that of an adapter": {
			adapters: []Adapter{named("b", "sql", "ec"), named("a", "sql", "echo_x_")}, contents: contents("echo", "sql"),
			desired: []string{"a", "b"},
			waiting: map[string]string{"echo": `its prefix "echo_" and that of adapter a begin alike`},
		},
		"drop-ins of which one extends the other": {
			contents: contents("echo", "echo_two"), desired: []string{"echo"},
			waiting: map[string]string{"echo_two": `its prefix "echo_two_" and that of adapter echo begin alike`},
		},
		"the empty prefix clashes with none": {
			adapters: []Adapter{named("orders", "sql", "")}, contents: contents("echo", "sql"),
			desired: []string{"echo", "orders"},
		},
		"names that begin alike are no prefixes": {
			contents: contents("echo", "echo2"), desired: []string{"echo", "echo2"},
		},
		"notes of the directories": {
			contents: &catalog.Contents{Notes: []string{"/p/x is left out"}}, notes: []string{"/p/x is left out"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(tc.adapters, "/a", "/b")
			for range 5 { // the same each time, whatever the order of maps
				desired, waiting, missing, notes := f.desire(tc.contents)
				got := map[string]bool{}
				for name, d := range desired {
					got[name] = d.Name == name
				}
				want := map[string]bool{}
				for _, name := range tc.desired {
					want[name] = true
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("desired (-want +got):\n%s", diff)
				}
				reasons := map[string]string{}
				for name, w := range waiting {
					reasons[name] = w.reason[:min(len(w.reason), len(tc.waiting[name]))]
				}
				if tc.waiting == nil {
					tc.waiting = map[string]string{}
				}
				if diff := cmp.Diff(tc.waiting, reasons); diff != "" {
					t.Errorf("waiting (-want +got):\n%s", diff)
				}
				if missing != tc.missing {
					t.Errorf("waits for a secret: %v", missing)
				}
				if diff := cmp.Diff(tc.notes, notes); diff != "" {
					t.Errorf("notes (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// pins name one plugin.
type pins struct{ fault error }

func (p *pins) Fault() error { return p.fault }

func (p *pins) Program(plugin string, folder bool) (hash tool.Digest, refused string) {
	if plugin != "sql" || folder {
		return tool.Digest{}, "not pinned: " + plugin
	}
	return tool.DigestOf([]byte("sql")), ""
}

func TestOnlyWhatIsPinnedIsDesired(t *testing.T) {
	f := newFixture([]Adapter{
		{Name: "orders", Plugin: "sql", Prefix: "orders_", Config: map[string]any{}},
		{Name: "shop", Plugin: "rest", Prefix: "shop_", Config: map[string]any{"token": "${UNSET}"}},
	})
	f.config.Pins = &pins{}
	c := contents("echo", "rest", "sql")
	desired, waiting, missing, notes := f.desire(c)
	if len(desired) != 1 || desired["orders"].Program.Pin != tool.DigestOf([]byte("sql")) || len(notes) != 0 || missing {
		t.Errorf("desired %v, missing %v, notes %q", desired, missing, notes)
	}
	want := map[string]waitingFor{"shop": {"rest", "not pinned: rest"}, "echo": {"echo", "not pinned: echo"}}
	for name, w := range want {
		if waiting[name] == nil || *waiting[name] != w {
			t.Errorf("%s waits for %v", name, waiting[name])
		}
	}
	for i := range c.Plugins {
		c.Plugins[i].Command = []string{"run"}
	}
	f.config.Pins = &pins{fault: errors.New("damaged")}
	if desired, _, _, notes = f.desire(c); len(desired) != 0 || len(notes) != 1 || notes[0] != "the lock does not count: damaged" {
		t.Errorf("desired %v, notes %q", desired, notes)
	}
}
