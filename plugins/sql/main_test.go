// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asPlugin makes the test binary the plugin.
const asPlugin = "SQL_TEST_AS_PLUGIN"

func TestMain(m *testing.M) {
	if os.Getenv(asPlugin) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// byHand runs the plugin as a person would, and returns what it prints.
func byHand(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asPlugin+"=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestThePluginSaysWhatItIs(t *testing.T) {
	out, err := byHand(t, "describe", "--config", `{"dsn": "sqlite:`+shop(t)+`", "allowed_tables": ["orders"]}`)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var d struct {
		Name         string
		ConfigSchema struct {
			Properties           map[string]struct{ WriteOnly bool }
			Required             []string
			AdditionalProperties *bool
		} `json:"config_schema"`
	}
	// What follows the first object is about the configuration.
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&d); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := d.ConfigSchema
	if d.Name != "sql" || !s.Properties["dsn"].WriteOnly || s.AdditionalProperties == nil || *s.AdditionalProperties {
		t.Errorf("%s", out)
	}
	for _, tool := range []string{`"query"`, `"list_tables"`, `"output_schema"`} {
		if !strings.Contains(out, tool) {
			t.Errorf("nothing about %s in %s", tool, out)
		}
	}
}

func TestThePluginAnswersByHand(t *testing.T) {
	config := `{"dsn": "sqlite:` + shop(t) + `", "allowed_tables": ["orders"]}`
	out, err := byHand(t, "call", "--config", config, "query", `{"sql": "SELECT total FROM orders WHERE id = ?", "params": [1]}`)
	if err != nil || !strings.Contains(out, `"total": "1.10"`) {
		t.Errorf("%v: %s", err, out)
	}
	out, err = byHand(t, "call", "--config", config, "query", `{"sql": "SELECT token FROM secrets"}`)
	if err == nil || !strings.Contains(out, "table_not_allowed") {
		t.Errorf("%v: %s", err, out)
	}
	out, err = byHand(t, "call", "--config", `{"dsn": "sqlite:x.db", "allowed": []}`, "list_tables")
	if err == nil || !strings.Contains(out, "allowed") {
		t.Errorf("an unknown key: %v: %s", err, out)
	}
}
