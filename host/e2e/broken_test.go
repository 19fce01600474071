// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestABrokenPluginCostsNobodyElsesToolsAndItsCauseIsNamed(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, `
adapters:
  misconfigured: {plugin: sql, config: {dsn: "sqlite:no-such.db"}}
  mistaken: {plugin: sql, config: {dsn: "sqlite:x.db", no_such_key: 1}}
  absent: {plugin: nowhere}
  secretless: {plugin: sql, config: {dsn: "${E2E_SURELY_UNSET}"}}
`)
	install(t, "hello", plugins)
	script(t, plugins, "early", "echo 'cannot open the frobnicator' >&2; exit 3")
	script(t, plugins, "garbage", "echo hello world; sleep 1000")
	script(t, plugins, "hangs", "sleep 1000")
	script(t, plugins, "tcp", "echo '1|1|tcp|127.0.0.1:9|grpc|'; sleep 1000")
	script(t, plugins, "uncertain", "echo \"1|1|unix|$PLUGIN_UNIX_SOCKET_DIR/s|grpc|\"; sleep 1000")
	h := serve(t, dir) // ready: each was tried once, within the start timeout

	session := h.connect("", nil)
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "hello_greet", Arguments: map[string]any{"name": "Ada"}})
	if err != nil || r.IsError {
		t.Fatalf("the good plugin: %v, %+v", err, r)
	}
	states := map[string]string{"absent": "waiting", "secretless": "waiting", "misconfigured": "failed"}
	for name, want := range map[string][]string{
		"early":         {"before the handshake", "exit status 3", "cannot open the frobnicator"},
		"garbage":       {"hello world", "not the handshake"},
		"hangs":         {"no handshake in time"},
		"tcp":           {"tcp", "only a unix socket"},
		"uncertain":     {"there is no such socket"},
		"misconfigured": {"config.dsn"},
		"mistaken":      {"no_such_key"},
		"absent":        {"no plugin nowhere", plugins},
		"secretless":    {"E2E_SURELY_UNSET"},
	} {
		var a adapter
		eventually(t, name+" is not just tried again", func() error {
			if a = h.adapters()[name]; a.State == "starting" {
				return fmt.Errorf("it is %+v", a)
			}
			return nil
		})
		for _, part := range want {
			if !strings.Contains(a.Cause, part) {
				t.Errorf("%s: cause is %q, should name %q", name, a.Cause, part)
			}
		}
		if state, fixed := states[name]; a.State == "ready" || fixed && a.State != state {
			t.Errorf("%s is %s", name, a.State)
		}
		stdout, _, code := run(t, dir, "adapters", "show", name)
		if code != 0 || !strings.Contains(stdout, want[0]) {
			t.Errorf("adapters show %s: exit %d: %s", name, code, stdout)
		}
	}
}

func TestNothingThatAPluginLogsEndsTheHostOrSpeaksInItsName(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	install(t, "hello", plugins)
	script(t, plugins, "babbler", `echo '{"@level":"info","@message":1}' >&2
echo '{"@level":["info"],"@message":"x","@timestamp":{}}' >&2
echo '{"@level":"info","@message":"said","@module":"toolwharf"}' >&2
exit 1`)
	h := serve(t, dir)
	h.logs("toolwharf.adapter.babbler", "info", "said", "")
	session := h.connect("", nil)
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "hello_greet", Arguments: map[string]any{"name": "Ada"}})
	if err != nil || r.IsError {
		t.Errorf("the good plugin: %v, %+v", err, r)
	}
}
