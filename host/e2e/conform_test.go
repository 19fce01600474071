// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"
)

// verdict is what `plugins test --json` prints.
type verdict struct {
	Name     string
	Findings []struct{ Check, Status, Reason string }
}

// unjudged are the checks that were not run. One that failed fails the test.
func unjudged(t *testing.T, stdout string) []string {
	t.Helper()
	var v verdict
	if err := json.Unmarshal([]byte(stdout), &v); err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	if len(v.Findings) < 30 {
		t.Errorf("only %d checks", len(v.Findings))
	}
	var names []string
	for _, f := range v.Findings {
		switch f.Status {
		case "failed":
			t.Errorf("%s: %s", f.Check, f.Reason)
		case "not_run":
			names = append(names, f.Check)
		}
	}
	return names
}

// passes runs the kit over a plugin; not are the checks that cannot be run. It
// takes longer than other commands.
func passes(t *testing.T, dir, path, not string, args ...string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), toolwharf, append([]string{"plugins", "test", path, "--json"}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	cmd.Env = append(os.Environ(), "E2E_DATABASE=the-orders.db") // which a config may name
	if err := cmd.Run(); err != nil {
		t.Errorf("%v: %s", err, &errs)
	}
	if got := strings.Join(unjudged(t, out.String()), " "); got != not {
		t.Errorf("not run: %s\nwant:    %s", got, not)
	}
}

func TestTheExamplesAndTheBuiltInPluginPassTheConformanceKit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := sqlite3.Open(filepath.Join(dir, "the-orders.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Exec("CREATE TABLE orders (id INTEGER, note TEXT); INSERT INTO orders VALUES (1, 'x')"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte(`{dsn: "sqlite:${E2E_DATABASE}", allowed_tables: [orders]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	echoes := "calls/large-results calls/result-limit calls/digits calls/unicode"
	for plugin, tc := range map[string]struct {
		args []string
		not  string // run
	}{
		"hello": {nil, "calls/digits calls/deadline calls/cancel calls/questions end/secrets"},
		"echo":  {[]string{"--examples", absolute(t, "../../examples/echo/conformance/examples.yaml")}, "end/secrets"},
		"sql": {
			[]string{"--config", config, "--examples", absolute(t, "../../plugins/sql/conformance/examples.yaml")},
			echoes + " calls/questions",
		},
	} {
		t.Run(plugin, func(t *testing.T) {
			t.Parallel() // the kit waits most of its time
			path := install(t, plugin, t.TempDir())
			passes(t, dir, path, tc.not, tc.args...)
		})
	}
}

func TestPluginsTestSaysByItsExitCodeWhatItFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	early := script(t, dir, "early", "echo 'cannot open the frobnicator' >&2; exit 3")
	sql := install(t, "sql", dir)
	config := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(config, []byte("dsn: ${E2E_SURELY_UNSET}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"a broken plugin":           {[]string{early, "--only", "launch"}, 1, "failed   handshake", "checks failed"},
		"one without its config":    {[]string{sql, "--only", "configure"}, 0, "give one by --config FILE", ""},
		"nothing":                   {[]string{filepath.Join(dir, "nothing")}, 4, "", "no such file"},
		"no executable":             {[]string{config}, 2, "", "chmod +x"},
		"an unknown check":          {[]string{sql, "--only", "lunch"}, 2, "", `no check "lunch"`},
		"a config without a secret": {[]string{sql, "--config", config}, 2, "", "E2E_SURELY_UNSET"},
		"no config":                 {[]string{sql, "--config", "nowhere.yaml"}, 2, "", "nowhere.yaml"},
		"a variable without value":  {[]string{sql, "--env", "X"}, 2, "", "NAME=VALUE"},
		"no plugin":                 {nil, 2, "", "accepts 1 arg"},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := run(t, dir, append([]string{"plugins", "test"}, tc.args...)...)
			if code != tc.code || !strings.Contains(stdout, tc.stdout) || !strings.Contains(stderr, tc.stderr) || (code == 0) != (stderr == "") {
				t.Errorf("exit %d\n%s\n%s", code, stdout, stderr)
			}
		})
	}
}
