// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"maps"
	"testing"
	"time"
)

func desired() *Desired {
	return &Desired{
		Name: "orders", Program: Program{Plugin: "sql", Path: "/p/sql", Stamp: "1"}, Prefix: "orders_",
		Config: []byte(`{"dsn":"x"}`), Configured: true, Env: map[string]string{"A": "1", "B": "2"}, Dir: "/d",
		Limits: Limits{Timeout: time.Second, MaxInFlight: 2, Restarts: 3, StartTimeout: time.Minute},
	}
}

func TestTwoDesiredAreEqualWhenEverythingThatMattersIs(t *testing.T) {
	want := desired().Digest()
	for range 100 { // whatever the order of a map
		if desired().Digest() != want {
			t.Fatal("equal ones differ")
		}
	}
	located := desired()
	located.Locate = func(string) string { return "toolwharf.yaml:3" }
	if located.Digest() != want {
		t.Error("where the configuration stands makes a difference")
	}
}

func TestEverythingThatMattersMakesADifference(t *testing.T) {
	seen := map[any]string{desired().Digest(): "nothing"}
	for what, change := range map[string]func(*Desired){
		"its name":            func(d *Desired) { d.Name = "shop" },
		"its plugin":          func(d *Desired) { d.Program.Plugin = "rest" },
		"its path":            func(d *Desired) { d.Program.Path = "/q/sql" },
		"its stamp":           func(d *Desired) { d.Program.Stamp = "2" },
		"its prefix":          func(d *Desired) { d.Prefix = "o_" },
		"its configuration":   func(d *Desired) { d.Config = []byte(`{"dsn":"y"}`) },
		"no configuration":    func(d *Desired) { d.Config = nil },
		"that nobody did":     func(d *Desired) { d.Configured = false },
		"its directory":       func(d *Desired) { d.Dir = "/e" },
		"its timeout":         func(d *Desired) { d.Limits.Timeout++ },
		"its calls in flight": func(d *Desired) { d.Limits.MaxInFlight++ },
		"its restarts":        func(d *Desired) { d.Limits.Restarts++ },
		"its start timeout":   func(d *Desired) { d.Limits.StartTimeout++ },
		"its sandbox":         func(d *Desired) { d.Sandbox.Off = true },
		"what is allowed":     func(d *Desired) { d.Sandbox.Allow = []Grant{{GrantRead, "/a"}} },
		"what may be written": func(d *Desired) { d.Sandbox.Allow = []Grant{{GrantWrite, "/a"}} },
		"a variable's value":  func(d *Desired) { d.Env = maps.Clone(d.Env); d.Env["A"] = "3" },
		"a variable's name":   func(d *Desired) { d.Env = map[string]string{"A": "1", "C": "2"} },
		"one variable more":   func(d *Desired) { d.Env = map[string]string{"A": "1", "B": "2", "C": ""} },
		"no variables":        func(d *Desired) { d.Env = nil },
		"where a field ends":  func(d *Desired) { d.Prefix, d.Config = "orders_{", []byte(`"dsn":"x"}`) },
	} {
		d := desired()
		change(d)
		if same, dup := seen[d.Digest()]; dup {
			t.Errorf("%s changed: as if %s had", what, same)
		}
		seen[d.Digest()] = what
	}
}

func TestErrorsOfAStartSayWhereAndWhatToDo(t *testing.T) {
	for want, err := range map[string]error{
		"configure: config: dsn is missing":                                         &StartError{Phase: PhaseConfigure, Reason: "config: dsn is missing"},
		"plugin sql needs configuration: name it under adapters: in toolwharf.yaml": &NeedsConfigError{Plugin: "sql"},
	} {
		if got := err.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
