// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tenFaults has one fault of each kind, and what its report must name.
const tenFaults = `name: [shop]
colour: blue
state: ./state
plugins:
  dirs: plugins
  trust: everybody
adapters:
  Orders:
    plugin: echo
  stock:
    plugin: 7
    limits: {timeout: soon}
  lager:
    plugni: echo
http:
  listen: "8000"
  max_body: 1 elephant
`

func TestAConfigurationWithTenFaultsReportsAllTenAndStartsNothing(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "echo", plugins)
	if err := os.WriteFile(filepath.Join(dir, "toolwharf.yaml"), []byte(tenFaults), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"serve"}, {"serve", "--stdio"}, {"validate"}} {
		stdout, stderr, code := run(t, dir, command...)
		if code != 2 {
			t.Errorf("%v: exit %d", command, code)
		}
		if stdout != "" {
			t.Errorf("%v: stdout is %q", command, stdout)
		}
		for _, want := range []struct{ line, key string }{
			{":1:", "name"},
			{":2:", "colour"},
			{":5:", "plugins.dirs"},
			{":6:", "plugins.trust"},
			{":8:", "adapters.Orders"},
			{":11:", "adapters.stock.plugin"},
			{":12:", "adapters.stock.limits.timeout"},
			{":14:", "adapters.lager.plugni"},
			{":16:", "http.listen"},
			{":17:", "http.max_body"},
		} {
			if !hasLine(stderr, "toolwharf.yaml"+want.line, want.key) {
				t.Errorf("%v: no line names %s and %s:\n%s", command, want.line, want.key, stderr)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "state")); err == nil {
			t.Errorf("%v: the state directory was made", command)
		}
		if err := noneOf(plugins); err != nil {
			t.Error(err)
		}
	}
}

func hasLine(text, place, key string) bool {
	for line := range strings.Lines(text) {
		if strings.Contains(line, place) && strings.Contains(line, key) {
			return true
		}
	}
	return false
}
