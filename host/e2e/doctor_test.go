// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestDoctorAsksTheRunningHostAndNamesWhatAilsIt(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, `
adapters:
  fine: {plugin: hello}
  keyed: {plugin: hello, env: {KEY: "${E2E_SURELY_UNSET}"}}
  ill: {plugin: early}
`)
	install(t, "hello", plugins)
	early := script(t, plugins, "early", "exit 3")
	h := serve(t, dir)
	expects := func(want int, parts ...string) {
		t.Helper()
		stdout, stderr, code := run(t, dir, "doctor")
		if code != want {
			t.Errorf("exit %d, want %d: %s", code, want, stderr)
		}
		for _, part := range parts {
			state, text, _ := strings.Cut(part, ": ")
			if !hasCheck(stdout, state, text) {
				t.Errorf("no line says %q:\n%s", part, stdout)
			}
		}
	}
	eventually(t, "the ill one is given up for now", func() error { // it starts again at once at first
		if a := h.adapters()["ill"]; a.State != "backing_off" {
			return fmt.Errorf("it is %s", a.State)
		}
		return nil
	})
	expects(1, "ok: host process ", "ok: store it opens", "ok: adapter fine ready", "ok: state ", "ok: ledger key ",
		"fail: adapter keyed waiting: secret missing", "fail: adapter ill ")
	if err := os.Remove(early); err != nil {
		t.Fatal(err)
	}
	h.rewrite(func(text string) string {
		text = replaces(`  keyed: {plugin: hello, env: {KEY: "${E2E_SURELY_UNSET}"}}`, "")(text)
		return replaces("  ill: {plugin: early}", "")(text) + "approval: deferred\n"
	})
	h.reloads(1)
	expects(0, "warn: reload needs a restart: approval.mode", "ok: adapter fine ready")
	h.rewrite(func(text string) string { return text + "rulez: []\n" })
	h.reloads(2)
	expects(2, "fail: config ", "fail: reload refused, the configuration before serves on: ", "ok: adapter fine ready")
	h.rewrite(replaces("approval: deferred\nrulez: []\n", ""))
	h.reloads(3)
	expects(0, "ok: reload the newest file holds", "ok: config ")
}

// hasCheck reports whether a line has a state and begins with a text, whatever
// its blanks.
func hasCheck(stdout, state, text string) bool {
	for line := range strings.Lines(stdout) {
		if line = strings.Join(strings.Fields(line), " ") + " "; strings.HasPrefix(line, state+" "+text) {
			return true
		}
	}
	return false
}
