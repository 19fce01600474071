// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/fault"
)

var update = flag.Bool("update", false, "rewrite golden files")

// parse is Parse in an empty directory.
func parse(t *testing.T, yaml string) (*config.Config, fault.List) {
	t.Helper()
	return config.Parse("toolwharf.yaml", []byte(yaml), t.TempDir())
}

// accept fails the test when there are faults.
func accept(t *testing.T, yaml string) *config.Config {
	t.Helper()
	c, faults := parse(t, yaml)
	if len(faults) > 0 {
		t.Fatalf("refused:\n%v", faults)
	}
	return c
}

func TestAllFaultsOfAFileAreReportedAtOnceWithKeyAndLine(t *testing.T) {
	data, err := os.ReadFile("testdata/ten-faults.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, faults := config.Parse("toolwharf.yaml", data, "/etc/harbour")
	if c != nil {
		t.Error("a refused file has a Config")
	}
	got := faults.Error() + "\n"
	golden := "testdata/ten-faults.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
	if len(faults) != 10 {
		t.Errorf("%d faults, want 10", len(faults))
	}
	for _, f := range faults {
		if f.Line == 0 || f.Path == "" || f.File != "toolwharf.yaml" {
			t.Errorf("no file, key or line: %+v", f)
		}
	}
}

func TestFaults(t *testing.T) {
	long := strings.Repeat("x", 200)
	for name, c := range map[string]struct {
		yaml string
		want string // one line per fault, without the file's name
	}{
		"a misspelt key gets a suggestion":                    {"adaptors: {}", `1:1: adaptors: is not a known key: did you mean "adapters"?`},
		"camel case gets a suggestion too":                    {"adapters: {a: {plugin: p, limits: {maxInFlight: 3}}}", `1:36: adapters.a.limits.maxInFlight: is not a known key: did you mean "max_in_flight"?`},
		"an unknown key lists the known ones when few":        {"plugins: {zzzzzz: 1}", `1:11: plugins.zzzzzz: is not a known key: known keys: builtin, dirs, trust`},
		"a strange key is quoted and cut":                     {`"a.b ` + long + `": 1`, `1:1: "a.b ` + long[:56] + `…": is not a known key: known keys: adapters, approval, defaults, hooks, http, instructions, ledger, limits, log, mcpServers, name, plugins, rules, state, store, version`},
		"an unknown key without a value is unknown still":     {"adaptors:", `1:1: adaptors: is not a known key: did you mean "adapters"?`},
		"text where a number belongs":                         {"adapters: {a: {plugin: p, limits: {restarts: abc}}}", `1:36: adapters.a.limits.restarts: must be a whole number, is text "abc"`},
		"a fraction where a whole number belongs":             {"adapters: {a: {plugin: p, limits: {restarts: 1.5}}}", `1:36: adapters.a.limits.restarts: must be a whole number, is the number 1.5`},
		"a number where text belongs":                         {"version: 1.10", `1:1: version: must be text, is the number 1.10: put it in quotes`},
		"yes is text and no boolean":                          {"plugins: {builtin: yes}", `1:11: plugins.builtin: must be true or false, is text "yes"`},
		"a list where a mapping belongs":                      {"http: [1]", `1:1: http: must be a mapping (key: value), is a list`},
		"the whole file is a list":                            {"- a", `1:1: must be a mapping (key: value), is a list`},
		"the whole file is text":                              {"hello", `1:1: must be a mapping (key: value), is text "hello"`},
		"an adapter without a body":                           {"adapters: {a: }", `1:12: adapters.a: must be a mapping (key: value), is empty`},
		"an adapter without a plugin":                         {"adapters:\n  a:\n    prefix: a.", "2:3: adapters.a.plugin: is missing: Name of the plugin, as `toolwharf plugins list` shows it. Not a path: directories belong into `plugins.dirs`."},
		"a plugin without a value":                            {"adapters:\n  a:\n    plugin:", "3:5: adapters.a.plugin: is missing: Name of the plugin, as `toolwharf plugins list` shows it. Not a path: directories belong into `plugins.dirs`."},
		"a plugin that is a path":                             {"adapters: {a: {plugin: ./bin/p}}", `1:16: adapters.a.plugin: must be the name of a plugin, not a path (directories belong into plugins.dirs), is text "./bin/p"`},
		"a webhook in the clear":                              {"approval: {webhooks: [{url: 'http://chat.example.com/', secret: '${S}'}]}", `1:24: approval.webhooks[0].url: must be https, or http on this machine: what is told would be read on the way`},
		"a webhook with a password for a secret":              {"approval: {webhooks: [{url: 'https://chat.example.com/', secret: hunter2}]}", "1:58: approval.webhooks[0].secret: a secret begins with whsec_: make one with `echo whsec_$(openssl rand -base64 32)`"},
		"a webhook twice":                                     {"approval: {webhooks: [{url: '${U}', secret: '${S}'}, {url: '${U}', secret: '${S}'}]}", `1:55: approval.webhooks[1].url: repeats that of item 0: list its events in one entry`},
		"a webhook of an event that there is not":             {"approval: {webhooks: [{url: '${U}', secret: '${S}', events: [approval.used]}]}", `1:62: approval.webhooks[0].events[0]: must be one of "approval.pending", "approval.decided", is text "approval.used"`},
		"a duration without a unit":                           {"adapters: {a: {plugin: p, limits: {timeout: 30}}}", `1:36: adapters.a.limits.timeout: must be a duration such as 500ms, 30s, 15m or 1h30m, is the number 30`},
		"a duration that is none":                             {"adapters: {a: {plugin: p, limits: {timeout: soon}}}", `1:36: adapters.a.limits.timeout: must be a duration such as 500ms, 30s, 15m or 1h30m, is text "soon"`},
		"a duration of nothing":                               {"adapters: {a: {plugin: p, limits: {timeout: 0s}}}", `1:36: adapters.a.limits.timeout: must be more than 0s and at most a year`},
		"a duration that overflows":                           {"adapters: {a: {plugin: p, limits: {timeout: 99999999999h}}}", `1:36: adapters.a.limits.timeout: must be more than 0s and at most a year`},
		"a size without a unit":                               {"http: {max_body: 1048576}", `1:8: http.max_body: must be a size such as 64KiB, 1MiB or 2GiB, is the number 1048576`},
		"a size that overflows":                               {"http: {max_body: 99999999999999999999GiB}", `1:8: http.max_body: must be at least 1B and at most 1GiB`},
		"a body of nothing":                                   {"http: {max_body: 0B}", `1:8: http.max_body: must be at least 1B and at most 1GiB`},
		"memory that no plugin starts with":                   {"adapters: {a: {plugin: p, limits: {memory: 8MiB}}}", `1:36: adapters.a.limits.memory: must be at least 16MiB`},
		"a header of nothing":                                 {"http: {max_header: 1KiB}", `1:8: http.max_header: must be at least 4KiB and at most 1MiB`},
		"a connection that may wait for ever":                 {"http: {idle_timeout: 9h}", `1:8: http.idle_timeout: must be at least 100ms and at most 1h`},
		"a header that must come at once":                     {"http: {header_timeout: 1ms}", `1:8: http.header_timeout: must be at least 100ms and at most 1h`},
		"no connections":                                      {"http: {max_connections: 0}", `1:8: http.max_connections: must be at least 1, is the number 0`},
		"a rate that is none":                                 {"limits: {rate: 10/w}", `1:10: limits.rate: must be a rate such as 10/s, 100/m or 5000/d, is text "10/w"`},
		"a budget that could not be counted exactly":          {"limits: {budget: 0.0000000001}", `1:10: limits.budget: must be at most a billion, with at most nine places after the point, is 0.0000000001`},
		"a cost beyond every budget":                          {"adapters: {a: {plugin: p, tools: {t: {cost: 1e10}}}}", `1:39: adapters.a.tools.t.cost: must be at most a billion, with at most nine places after the point, is 1e10`},
		"a cost that gives back":                              {"adapters: {a: {plugin: p, tools: {t: {cost: -1}}}}", `1:39: adapters.a.tools.t.cost: must be at least 0, is the number -1`},
		"answers that are kept for no time":                   {"adapters: {a: {plugin: p, tools: {t: {cache: 0s}}}}", `1:39: adapters.a.tools.t.cache: must be at least 1ms and at most a year`},
		"a shared answer to who is told to the plugin":        {"adapters: {a: {plugin: p, pass_principal: true, tools: {t: {cache: {ttl: 1s, shared: true}}}}}", `1:61: adapters.a.tools.t.cache: would give one caller what the plugin has answered to another: remove pass_principal of the adapter, or shared`},
		"a run that never ends":                               {"limits: {default_run: 99999h}", `1:10: limits.default_run: must be at least 1s and at most a year`},
		"a number out of its range":                           {"adapters: {a: {plugin: p, limits: {max_in_flight: 0}}}", `1:36: adapters.a.limits.max_in_flight: must be at least 1, is the number 0`},
		"a key that stands twice":                             {"name: a\nplugins: {}\nname: b", `3:1: name: the key stands twice, first in line 1: keep one of them`},
		"a key that stands twice in a plugin's configuration": {"adapters: {a: {plugin: p, config: {x: 1, x: 2}}}", `1:42: adapters.a.config.x: the key stands twice, first in line 1: keep one of them`},
		"an adapter that stands twice":                        {"adapters:\n  a: {plugin: p}\n  a: {plugin: q}", `3:3: adapters.a: the key stands twice, first in line 2: keep one of them`},
		"two documents":                                       {"name: a\n---\nname: b", "2:1: holds more than one YAML document: remove the `---` and what follows"},
		"an alias":                                            {"adapters:\n  a: &x {plugin: p}\n  b: *x", `3:3: adapters.b: an alias (*x) is not supported: write the value out`},
		"a merge key":                                         {"adapters:\n  a: {plugin: p, <<: {prefix: x}}", `2:18: adapters.a.<<: a merge key (<<) is not supported: write the values out`},
		"a key that is no text":                               {"? [a]\n: 1", `1:3: ?: a key must be text`},
		"a tag of another language":                           {"name: !ruby/object x", `1:1: name: the tag "!ruby/object" is not supported`},
		"a number with a leading zero":                        {"adapters: {a: {plugin: p, config: {mode: 0755}}}", `1:36: adapters.a.config.mode: a number with a leading zero is ambiguous; drop the zero, or put it in quotes if it is text`},
		"infinity":                                            {"adapters: {a: {plugin: p, config: {x: .inf}}}", `1:36: adapters.a.config.x: JSON has no such number; put it in quotes if it is text`},
		"an exponent that would fill the memory":              {"adapters: {a: {plugin: p, limits: {restarts: 1e999999999}}}", `1:36: adapters.a.limits.restarts: the exponent is beyond 400`},
		"a name that is none":                                 {"adapters: {Orders: {plugin: p}}", "1:12: adapters.Orders: the key must be a name of lower-case letters, digits, `_` and `-` that starts with a letter, at most 63 characters"},
		"a bad name does not hide what is below it":           {"adapters: {Orders: {plugin: p, frefix: x}}", "1:12: adapters.Orders: the key must be a name of lower-case letters, digits, `_` and `-` that starts with a letter, at most 63 characters\n1:32: adapters.Orders.frefix: is not a known key: did you mean \"prefix\"?"},
		"a reference that is not closed":                      {"adapters: {a: {plugin: p, config: {list: [ok, 'x${A']}}}", `1:47: adapters.a.config.list[1]: a reference is not closed: write ${NAME}, ${file:/path}, or $${ for a literal ${ (character 2)`},
		"a reference with a default":                          {"adapters: {a: {plugin: p, env: {X: '${A:-b}'}}}", `1:33: adapters.a.env.X: a reference needs a name of letters, digits and _ that starts with no digit: write ${NAME}, ${file:/path}, or $${ for a literal ${ (character 1)`},
		"a reference where none is expanded":                  {"state: ${HOME}/state", `1:1: state: a reference is not expanded here: references work in an adapter's config and env; write the value itself`},
		"a variable that steers the loader":                   {"adapters: {a: {plugin: p, env: {LD_PRELOAD: x, NODE_OPTIONS: y, _JAVA_OPTIONS: y, OK: z}}}", "1:33: adapters.a.env.LD_PRELOAD: would change how the plugin is loaded or found by the host: remove it\n1:48: adapters.a.env.NODE_OPTIONS: would change how the plugin is loaded or found by the host: remove it\n1:65: adapters.a.env._JAVA_OPTIONS: would change how the plugin is loaded or found by the host: remove it"},
		"a variable's name with a blank":                      {"adapters: {a: {plugin: p, env: {A B: x}}}", "1:33: adapters.a.env.\"A B\": the key must be a variable's name of letters, digits and `_`"},
		"a value of env is never shown":                       {"adapters: {a: {plugin: p, env: {PIN: [1234]}}}", `1:33: adapters.a.env.PIN: must be text or a number or true or false, is a list`},
		"the home directory of a shell":                       {"state: ~/wharf", `1:1: state: ~ is not expanded in this file: write the directory out`},
		"an item that stands twice":                           {"plugins: {dirs: [., .]}", `1:21: plugins.dirs[1]: repeats item 0: remove it`},
		"a listen address without a port":                     {"http: {listen: localhost}", `1:8: http.listen: must be address:port such as 127.0.0.1:8000 or [::1]:8000`},
		"a listen address with a named port":                  {"http: {listen: 'localhost:http'}", `1:8: http.listen: must be address:port such as 127.0.0.1:8000 or [::1]:8000`},
		"a path of the host's own":                            {"http: {path: /v1/mcp}", `1:8: http.path: is taken: /v1 is the host's own`},
		"a path with a slash at its end":                      {"http: {path: /mcp/}", `1:8: http.path: must be a path such as /mcp, without a / at its end, is text "/mcp/"`},
		"a condition that is none":                            {"rules: [{deny: ['*'], when: 'tool.nmae == 1'}]", `1:23: rules[0].when: is no CEL expression over tool, args, principal, run and now: character 5: type 'string' does not support field selection`},
		"a glob that is none":                                 {"rules: [{deny: ['a', '[']}]", `1:22: rules[0].deny[1]: has "[", which is no glob and would match nothing`},
		"what is served by no glob":                           {"adapters: {a: {plugin: p, exclude: ['{']}}", `1:37: adapters.a.exclude[0]: has "{", which is no glob and would match nothing`},
		"an allowed host with a scheme":                       {"http: {allowed_hosts: ['https://x']}", `1:24: http.allowed_hosts[0]: must be a host name such as tools.example.com or tools.example.com:8443, without scheme and path, is text "https://x"`},
		"an origin with a path":                               {"http: {allowed_origins: ['https://x/']}", `1:26: http.allowed_origins[0]: must be an origin such as https://app.example.com, without a path, is text "https://x/"`},
		"a tab for indentation":                               {"name: a\nplugins:\n\tdirs: []", `3: is not valid YAML: found character that cannot start any token: indent with blanks, not tabs, and quote text that starts with a special character`},
		"a bracket that is not closed":                        {"plugins: {dirs: [", `1: is not valid YAML: did not find expected node content`},
		"bytes that are no text":                              {"name: \xff", `is not valid YAML: invalid leading UTF-8 octet`},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, faults := parse(t, c.yaml)
			got := strings.ReplaceAll(faults.Error(), "toolwharf.yaml:", "")
			if diff := cmp.Diff(c.want, strings.TrimSpace(got)); diff != "" {
				t.Error(diff)
			}
			if cfg != nil {
				t.Error("a refused file has a Config")
			}
		})
	}
}

func TestAListenAddressBeyondThisMachineNeedsMore(t *testing.T) {
	const (
		open      = "other machines could call every tool without a name"
		hosts     = "is missing, and http.listen is no loopback address"
		elsewhere = "0.0.0.0:8000"
	)
	for name, c := range map[string]struct {
		http string
		want map[string]string // path: summary
	}{
		"loopback needs nothing":             {"{listen: '127.0.0.1:9'}", nil},
		"localhost needs nothing":            {"{listen: 'localhost:9'}", nil},
		"all of 127/8 needs nothing":         {"{listen: '127.7.7.7:0'}", nil},
		"IPv6 loopback needs nothing":        {"{listen: '[::1]:9'}", nil},
		"mapped loopback needs nothing":      {"{listen: '[::ffff:127.0.0.1]:9'}", nil},
		"loopback may be anonymous":          {"{listen: '127.0.0.1:9', allow_anonymous: true}", nil},
		"every address needs both":           {"{listen: '" + elsewhere + "'}", map[string]string{"http.listen": open, "http.allowed_hosts": hosts}},
		"no address is every address":        {"{listen: ':8000'}", map[string]string{"http.listen": open, "http.allowed_hosts": hosts}},
		"a name needs both":                  {"{listen: 'wharf:8000'}", map[string]string{"http.listen": open, "http.allowed_hosts": hosts}},
		"hosts alone are not enough":         {"{listen: '" + elsewhere + "', allowed_hosts: [x]}", map[string]string{"http.listen": open}},
		"anonymous false is not enough":      {"{listen: '" + elsewhere + "', allowed_hosts: [x], allow_anonymous: false}", map[string]string{"http.listen": open}},
		"anonymous callers who are wanted":   {"{listen: '" + elsewhere + "', allowed_hosts: [x], allow_anonymous: true}", nil},
		"an issuer is enough":                {"{listen: '" + elsewhere + "', allowed_hosts: [x], auth: {issuer: 'https://x', audience: y}}", nil},
		"anonymous needs hosts all the same": {"{listen: '" + elsewhere + "', allow_anonymous: true}", map[string]string{"http.allowed_hosts": hosts}},
		"tokens are enough":                  {"{listen: '" + elsewhere + "', allowed_hosts: [x], auth: {tokens: [{sha256: '" + strings.Repeat("a", 64) + "', client_id: c}]}}", nil},
		"tokens need hosts all the same":     {"{listen: '" + elsewhere + "', auth: {tokens: [{sha256: '" + strings.Repeat("a", 64) + "', client_id: c}]}}", map[string]string{"http.allowed_hosts": hosts}},
		"an expression authenticates nobody": {"{listen: '" + elsewhere + "', allowed_hosts: [x], auth: {principal: peer}}", map[string]string{"http.listen": open}},
	} {
		t.Run(name, func(t *testing.T) {
			_, faults := parse(t, "http: "+c.http)
			if diff := cmp.Diff(c.want, summaries(faults), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func summaries(faults fault.List) map[string]string {
	out := map[string]string{}
	for _, f := range faults {
		out[f.Path] = f.Summary
	}
	return out
}

func TestHalfAnAuthenticationIsRefused(t *testing.T) {
	token := "{sha256: '" + strings.Repeat("a", 64) + "', client_id: c}"
	for name, c := range map[string]struct {
		auth string
		path string // of the fault; empty: none
	}{
		"nothing at all":              {"{}", "http.auth"},
		"a principal alone":           {"{principal: peer}", ""},
		"a principal beside tokens":   {"{principal: token.subject, tokens: [" + token + "]}", ""},
		"a principal that is none":    {"{principal: 'peers'}", "http.auth.principal"},
		"a principal that is no text": {"{principal: '1'}", "http.auth.principal"},
		"a token that stands twice":   {"{tokens: [" + token + ", " + token + "]}", "http.auth.tokens[1].sha256"},
		"an issuer alone":             {"{issuer: 'https://x'}", "http.auth.issuer"},
		"an audience alone":           {"{audience: x}", "http.auth.audience"},
		"keys alone":                  {"{jwks: 'https://x/k'}", "http.auth.jwks"},
		"introspection alone":         {"{introspection: {url: 'https://x/i'}}", "http.auth.introspection"},
		"an issuer and an audience":   {"{issuer: 'https://x', audience: y}", ""},
		"all of an issuer":            {"{issuer: 'https://x/', audience: y, jwks: 'https://x/k', tokens: [" + token + "]}", ""},
		"an issuer of this machine":   {"{issuer: 'http://127.0.0.1:9000/a', audience: y}", ""},
		"an issuer in the clear":      {"{issuer: 'http://x', audience: y}", "http.auth.issuer"},
		"an issuer with a query":      {"{issuer: 'https://x?a', audience: y}", "http.auth.issuer"},
		"an issuer with a password":   {"{issuer: 'https://a:b@x', audience: y}", "http.auth.issuer"},
		"keys in the clear":           {"{issuer: 'https://x', audience: y, jwks: 'http://x/k'}", "http.auth.jwks"},
		"introspection":               {"{issuer: 'https://x', audience: y, introspection: {url: 'https://x/i', client_id: h, client_secret: '${S}'}}", ""},
		"introspection in the clear":  {"{issuer: 'https://x', audience: y, introspection: {url: 'http://x/i'}}", "http.auth.introspection.url"},
		"a secret of nobody":          {"{issuer: 'https://x', audience: y, introspection: {url: 'https://x/i', client_secret: '${S}'}}", "http.auth.introspection.client_secret"},
		"answers that are kept":       {"{issuer: 'https://x', audience: y, introspection: {url: 'https://x/i', cache: 5s}}", ""},
		"answers that are not kept":   {"{issuer: 'https://x', audience: y, introspection: {url: 'https://x/i', cache: 0s}}", "http.auth.introspection.cache"},
		"answers kept for long":       {"{issuer: 'https://x', audience: y, introspection: {url: 'https://x/i', cache: 2h}}", "http.auth.introspection.cache"},
		"tokens alone are complete":   {"{tokens: [" + token + "]}", ""},
		"a login without an issuer":   {"{login: {client_id: h}}", "http.auth.login"},
		"a login without public_url":  {"{issuer: 'https://x', audience: y, login: {client_id: h}}", "http.auth.login"},
		"a login of a name":           {"{issuer: 'https://x', audience: y, principal: token.subject, login: {client_id: h}}, public_url: 'https://y'", "http.auth.login"},
		"a login":                     {"{issuer: 'https://x', audience: y, login: {client_id: h, client_secret: '${S}'}}, public_url: 'https://y'", ""},
		"a login at this machine":     {"{issuer: 'https://x', audience: y, login: {client_id: h}}, public_url: 'http://localhost:80'", ""},
		"a login in the clear":        {"{issuer: 'https://x', audience: y, login: {client_id: h}}, public_url: 'http://y'", "http.public_url"},
		"a login that says no name":   {"{issuer: 'https://x', audience: y, login: {client_id: h, scopes: [profile]}}, public_url: 'https://y'", "http.auth.login.scopes"},
		"a login of joined scopes":    {"{issuer: 'https://x', audience: y, login: {client_id: h, scopes: [openid, 'a b']}}, public_url: 'https://y'", "http.auth.login.scopes[1]"},
		"a login of nobody":           {"{issuer: 'https://x', audience: y, login: {}}, public_url: 'https://y'", "http.auth.login.client_id"},
		"a digest that is none":       {"{tokens: [{sha256: abc, client_id: c}]}", "http.auth.tokens[0].sha256"},
	} {
		t.Run(name, func(t *testing.T) {
			_, faults := parse(t, "http: {auth: "+c.auth+"}")
			got := summaries(faults)
			if c.path == "" {
				if len(got) != 0 {
					t.Error(got)
				}
				return
			}
			if s := got[c.path]; s == "" || s == "is not built yet" {
				t.Errorf("no fault at %s: %v", c.path, faults)
			}
			if s := faults.Error(); strings.Contains(s, "abc") || strings.Contains(s, "aaaa") {
				t.Errorf("a digest is shown: %s", s)
			}
		})
	}
}

func TestPrefixes(t *testing.T) {
	for name, c := range map[string]struct {
		adapters string
		want     []string // paths of faults
	}{
		"defaults that differ are fine":                    {"{a: {plugin: p}, b: {plugin: p}}", nil},
		"a default that begins with another's is refused":  {"{shop: {plugin: p}, shop_eu: {plugin: p}}", []string{"adapters.shop_eu.prefix"}},
		"equal prefixes are refused":                       {"{a: {plugin: p, prefix: x_}, b: {plugin: p, prefix: x_}}", []string{"adapters.b.prefix"}},
		"a dot and an underscore look the same to clients": {"{a: {plugin: p, prefix: x.}, b: {plugin: p, prefix: x_}}", []string{"adapters.b.prefix"}},
		"the written prefix is blamed, not the default":    {"{shop: {plugin: p}, z: {plugin: p, prefix: s}}", []string{"adapters.z.prefix"}},
		"an empty prefix stands beside others":             {"{a: {plugin: p, prefix: ''}, b: {plugin: p}}", nil},
		"every one in a row is named":                      {"{a: {plugin: p, prefix: x}, b: {plugin: p, prefix: xy}, c: {plugin: p, prefix: xyz}}", []string{"adapters.b.prefix", "adapters.c.prefix"}},
		"siblings below one are named each":                {"{a: {plugin: p, prefix: x}, b: {plugin: p, prefix: xa}, c: {plugin: p, prefix: xb}}", []string{"adapters.b.prefix", "adapters.c.prefix"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, faults := parse(t, "adapters: "+c.adapters)
			got := make([]string, 0, len(faults))
			for _, f := range faults {
				got = append(got, f.Path)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s\n%v", diff, faults)
			}
		})
	}
}

func TestImportedServersAreCheckedThoughTheyAreNotBuilt(t *testing.T) {
	for name, c := range map[string]struct {
		yaml string
		want map[string]string // beside mcpServers: is not built yet
	}{
		"a url":                       {"mcpServers: {My Shop: {url: 'https://x', timeout: 60000}}", nil},
		"a command":                   {"mcpServers: {s: {command: npx, args: [-y, x], env: {A: '${A}'}}}", nil},
		"both":                        {"mcpServers: {s: {command: npx, url: 'https://x'}}", map[string]string{"mcpServers.s": "has both a command and a url"}},
		"neither":                     {"mcpServers: {s: {}}", map[string]string{"mcpServers.s": "has neither a command nor a url"}},
		"the name of an adapter":      {"mcpServers: {s: {url: x}}\nadapters: {s: {plugin: p, prefix: q_}}", map[string]string{"mcpServers.s": "has the name of an adapter"}},
		"the prefix of an adapter":    {"mcpServers: {s: {url: x, prefix: q.}}\nadapters: {a: {plugin: p, prefix: q_}}", map[string]string{"mcpServers.s.prefix": `prefix "q." is the prefix "q_" of adapters.a`}},
		"a disabled one collides not": {"mcpServers: {s: {url: x, prefix: q_, disabled: true}}\nadapters: {a: {plugin: p, prefix: q_}}", nil},
		"a timeout of nothing":        {"mcpServers: {s: {url: x, timeout: 0s}}", map[string]string{"mcpServers.s.timeout": "must be more than 0s and at most a year"}},
		"a timeout beyond a year":     {"mcpServers: {s: {url: x, timeout: 99999999999999}}", map[string]string{"mcpServers.s.timeout": "must be more than 0s and at most a year"}},
		"an unknown transport":        {"mcpServers: {s: {url: x, type: https}}", map[string]string{"mcpServers.s.type": `must be one of "stdio", "http", "streamable-http", "sse", is text "https"`}},
		"a broken reference":          {"mcpServers: {s: {url: x, headers: {A: '${'}}}", map[string]string{"mcpServers.s.headers.A": "a reference is not closed: write ${NAME}, ${file:/path}, or $${ for a literal ${ (character 1)"}},
		"a file that is not there":    {"mcpServers: {s: {command: x, envFile: none}}", map[string]string{"mcpServers.s.envFile": "no such file: DIR/none"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			_, faults := config.Parse("toolwharf.yaml", []byte(c.yaml), dir)
			want := map[string]string{"mcpServers": "is not built yet"}
			for path, summary := range c.want {
				want[path] = strings.ReplaceAll(summary, "DIR", dir)
			}
			if diff := cmp.Diff(want, summaries(faults)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFilesThatMustBeThereAreLookedFor(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for yaml, want := range map[string]string{
		"plugins: {dirs: [none]}":                  "plugins.dirs[0]: no such directory: DIR/none",
		"plugins: {dirs: [., file]}":               "plugins.dirs[1]: is not a directory: DIR/file",
		"plugins: {dirs: [file/below]}":            "plugins.dirs[0]: cannot be used: not a directory",
		"plugins: {dirs: [~/plugins]}":             "plugins.dirs[0]: ~ is not expanded in this file: write the directory out",
		"state: file":                              "state: is not a directory",
		"http: {tls: {cert: none, key: file}}":     "http.tls.cert: no such file: DIR/none",
		"http: {tls: {cert: file, key: .}}":        "http.tls.key: is not a regular file: DIR",
		"http: {tls: {cert: file, key: file}}":     "http.tls.cert: is no certificate of this key: failed to find any PEM data in certificate input",
		"http: {tls: {cert: file}}":                "http.tls.key: is missing: PEM file of the private key.",
		"mcpServers: {s: {command: x, cwd: none}}": "mcpServers.s.cwd: no such directory: DIR/none",
	} {
		t.Run(yaml, func(t *testing.T) {
			_, faults := config.Parse("toolwharf.yaml", []byte(yaml), dir)
			if want := strings.ReplaceAll(want, "DIR", dir); !strings.Contains(faults.Error(), want) {
				t.Errorf("no %q in\n%v", want, faults)
			}
		})
	}
}

func TestAnEmptyFileHasTheDefaults(t *testing.T) {
	dir := t.TempDir()
	want := config.Default(dir)
	if want.Name != "toolwharf" || want.State != filepath.Join(dir, ".toolwharf") || want.Store != "sqlite" ||
		!want.Plugins.Builtin || want.Plugins.Trust != "directory" || want.HTTP.Listen != "127.0.0.1:8000" ||
		want.HTTP.Path != "/mcp" || want.HTTP.MaxBody != 1<<20 || want.HTTP.AllowAnonymous != nil || want.Approval.Mode != "deny" {
		t.Errorf("the defaults are %+v", want)
	}
	for name, yaml := range map[string]string{
		"nothing":                    "",
		"a comment":                  "# nothing yet\n",
		"a document marker":          "---\n",
		"keys without values":        "adapters:\n  # a: {plugin: p}\nhttp:\nplugins:\n  dirs:\n",
		"a byte order mark":          "\ufeffname: toolwharf\n",
		"explicit nulls":             "http: ~\nadapters: null",
		"JSON":                       `{"name": "toolwharf", "adapters": {}}`,
		"what is the default anyway": "approval: deny\nstore: sqlite\nplugins: {trust: directory}\nhttp: {listen: '127.0.0.1:8000'}",
	} {
		t.Run(name, func(t *testing.T) {
			got, faults := config.Parse("toolwharf.yaml", []byte(yaml), dir)
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAFullFileIsReadIntoItsStructs(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "plugins"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "toolwharf.yaml")
	if err := os.WriteFile(file, []byte(`
name: harbour
version: "1.10"
instructions: Costs are in ${CURRENCY} cents.
state: var/state
plugins: {dirs: [plugins, `+dir+`], builtin: false}
adapters:
  orders:
    plugin: sql
    config:
      dsn: sqlite:orders.db
      allowed_tables: [orders]
      key: "${ORDERS_KEY}"
    sandbox: {allow: {read: [data], write: [/var/spool/orders], connect: ["db:5432"], private: true}}
  echo:
    plugin: echo
    prefix: ""
    env: {PORT: 8080, DEBUG: true, RATE: 1.50, NAME: "x"}
    limits: {timeout: 1m30s, max_in_flight: 4, restarts: 0, rate: 50/s}
    tools: {append: {rate: 5/m, cost: 0.10, max_calls: 3}, pay: {once_per_run: true, cost: 0}, echo: {cache: 90s}, read: {cache: {ttl: 1m, shared: true}}}
    sandbox: off
limits: {admission: 100/s, rate: 1000/h, max_calls: 200, budget: 12.50, default_run: 30m, cache: 8MiB}
http:
  listen: "[::1]:9000"
  path: /tools/mcp
  allowed_hosts: [tools.example.com, "tools.example.com:8443", "[::1]:9000"]
  allowed_origins: ["https://app.example.com"]
  allow_anonymous: false
  max_body: 64KiB
  max_header: 16KiB
  max_connections: 100
  max_idle: 50
  max_in_flight: 20
  max_listens: 4
  header_timeout: 5s
  body_timeout: 20s
  idle_timeout: 1m
log: {level: debug, format: json, access: true}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	got, faults := config.Load(file)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	no := false
	want := config.Default(dir)
	want.File = file
	want.Name, want.Version = "harbour", "1.10"
	want.Instructions = "Costs are in ${CURRENCY} cents."
	want.State = filepath.Join(dir, "var/state")
	want.Plugins = config.Plugins{Dirs: []string{filepath.Join(dir, "plugins"), dir}, Trust: "directory"}
	want.Adapters = []config.Adapter{
		{
			Name: "echo", Line: 15, Plugin: "echo", Config: map[string]any{}, Prefix: "",
			Env:    map[string]string{"PORT": "8080", "DEBUG": "true", "RATE": "1.50", "NAME": "x"},
			Limits: config.AdapterLimits{Timeout: 90 * time.Second, MaxInFlight: 4, Rate: "50/s"},
			Tools: map[string]config.ToolPolicy{
				"append": {Rate: "5/m", Cost: "0.10", MaxCalls: 3}, "pay": {OncePerRun: true, Cost: "0"},
				"echo": {Cache: &config.Cache{TTL: 90 * time.Second}}, "read": {Cache: &config.Cache{TTL: time.Minute, Shared: true}},
			},
			Sandbox: "off",
		},
		{
			Name: "orders", Line: 8, Plugin: "sql", Prefix: "orders_",
			Config: map[string]any{
				"dsn": "sqlite:orders.db", "allowed_tables": []any{"orders"}, "key": "${ORDERS_KEY}",
			},
			Limits:  config.AdapterLimits{Timeout: 30 * time.Second, MaxInFlight: 16, Restarts: 5},
			Sandbox: "auto",
			Allow:   config.Grants{Read: []string{filepath.Join(dir, "data")}, Write: []string{"/var/spool/orders"}, Connect: []string{"db:5432"}, Private: true},
		},
	}
	want.Limits = config.Limits{Admission: "100/s", Rate: "1000/h", MaxCalls: 200, Budget: "12.50", DefaultRun: 30 * time.Minute, Cache: 8 << 20}
	want.Log = config.Log{Level: "debug", Format: "json", Access: true}
	want.HTTP = config.HTTP{
		Listen: "[::1]:9000", Path: "/tools/mcp",
		AllowedHosts:   []string{"tools.example.com", "tools.example.com:8443", "[::1]:9000"},
		AllowedOrigins: []string{"https://app.example.com"}, AllowAnonymous: &no, MaxBody: 64 << 10,
		MaxHeader: 16 << 10, MaxConnections: 100, MaxIdle: 50, MaxInFlight: 20, MaxListens: 4,
		HeaderTimeout: 5 * time.Second, BodyTimeout: 20 * time.Second, IdleTimeout: time.Minute,
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(config.Adapter{}),
		cmpopts.IgnoreFields(config.Config{}, "Sum")); diff != "" {
		t.Error(diff)
	}
}

func TestAPluginsConfigurationKeepsItsDigitsAndItsText(t *testing.T) {
	for yaml, want := range map[string]string{
		"9007199254740993":              `9007199254740993`,
		"1.10":                          `1.10`,
		"-0.50":                         `-0.50`,
		"+5":                            `5`,
		".5":                            `0.5`,
		"5.":                            `5`,
		"1e3":                           `1e3`,
		"1E-7":                          `1E-7`,
		"0x1F":                          `31`,
		"0o17":                          `15`,
		"0":                             `0`,
		"-0":                            `-0`,
		"0.0":                           `0.0`,
		"1_000":                         `"1_000"`,
		"1.2.3":                         `"1.2.3"`,
		"12:30:45":                      `"12:30:45"`,
		"2026-07-28":                    `"2026-07-28"`,
		"2026-07-28T10:00:00Z":          `"2026-07-28T10:00:00Z"`,
		"yes":                           `"yes"`,
		"no":                            `"no"`,
		"on":                            `"on"`,
		"y":                             `"y"`,
		"true":                          `true`,
		"False":                         `false`,
		"null":                          `null`,
		"~":                             `null`,
		`"true"`:                        `"true"`,
		"'007'":                         `"007"`,
		"!!str 007":                     `"007"`,
		"!!str true":                    `"true"`,
		"!!int '7'":                     `7`,
		".":                             `"."`,
		"e5":                            `"e5"`,
		"1e":                            `"1e"`,
		"0x":                            `"0x"`,
		"$${A} ${B}":                    `"$${A} ${B}"`,
		"sqlite:rel/orders.db":          `"sqlite:rel/orders.db"`,
		"[1, [2, {a: 3.0}], null]":      `[1,[2,{"a":3.0}],null]`,
		"{yes: 1, 1: no, 2026-01-01: }": `{"1":"no","2026-01-01":null,"yes":1}`,
	} {
		t.Run(yaml, func(t *testing.T) {
			c := accept(t, "adapters:\n  a:\n    plugin: p\n    config:\n      v: "+yaml+"\n")
			got, err := json.Marshal(c.Adapters[0].Config.(map[string]any)["v"])
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestTheFormsOfAValueMeanTheSame(t *testing.T) {
	for _, yaml := range []string{"approval: deny", "approval: {mode: deny}", "approval: {}", ""} {
		if got := accept(t, yaml).Approval; got.Mode != "deny" || got.Expires != 15*time.Minute {
			t.Errorf("%q is %+v", yaml, got)
		}
	}
	for yaml, want := range map[string]string{
		"sandbox: off": "off", "sandbox: strict": "strict", "sandbox: {mode: strict}": "strict", "sandbox: {mode: off}": "off", "sandbox: {}": "auto", "sandbox:": "auto", "env: {}": "auto",
	} {
		if got := accept(t, "adapters:\n  a:\n    plugin: p\n    "+yaml).Adapters[0].Sandbox; got != want {
			t.Errorf("%q is %q, want %q", yaml, got, want)
		}
	}
}

func TestAPluginsDiagnosticFindsItsLine(t *testing.T) {
	c := accept(t, `adapters:
  orders:
    plugin: sql
    config:
      dsn: sqlite:x
      allowed_tables:
        - orders
        - audit
      "a/b~c": {deep: 1}
  bare: {plugin: p}
`)
	bare, orders := &c.Adapters[0], &c.Adapters[1]
	for name, c := range map[string]struct {
		fault fault.Fault
		want  string
	}{
		"the whole configuration":       {orders.At(""), "toolwharf.yaml:4:5: adapters.orders.config"},
		"a key":                         {orders.At("/dsn"), "toolwharf.yaml:5:7: adapters.orders.config.dsn"},
		"an item":                       {orders.At("/allowed_tables/1"), "toolwharf.yaml:8:11: adapters.orders.config.allowed_tables[1]"},
		"an escaped key":                {orders.At("/a~1b~0c/deep"), "toolwharf.yaml:9:17: adapters.orders.config.a/b~c.deep"},
		"a missing key":                 {orders.At("/timezone"), "toolwharf.yaml:4:5: adapters.orders.config.timezone"},
		"an item beyond the last":       {orders.At("/allowed_tables/9"), "toolwharf.yaml:6:7: adapters.orders.config.allowed_tables[9]"},
		"a key below text":              {orders.At("/dsn/x/y"), "toolwharf.yaml:5:7: adapters.orders.config.dsn.x.y"},
		"an adapter without config":     {bare.At("/dsn"), "toolwharf.yaml:10:3: adapters.bare.config.dsn"},
		"a key of the adapter":          {orders.AtKey("plugin"), "toolwharf.yaml:3:5: adapters.orders.plugin"},
		"the adapter itself":            {orders.AtKey(""), "toolwharf.yaml:2:3: adapters.orders"},
		"an adapter that no file names": {(&config.Adapter{Name: "drop"}).At("/x"), "adapters.drop.config.x"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.TrimSuffix(c.fault.String(), ": "); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestALargeFileIsRefusedWithoutBeingRead(t *testing.T) {
	huge := "name: a\n#" + strings.Repeat("x", 1<<20)
	if _, faults := parse(t, huge); faults.Error() != "toolwharf.yaml: is larger than 1 MiB" {
		t.Error(faults)
	}
	file := filepath.Join(t.TempDir(), "toolwharf.yaml")
	if err := os.WriteFile(file, []byte(huge), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, faults := config.Load(file); !strings.HasSuffix(faults.Error(), "is larger than 1 MiB") {
		t.Error(faults)
	}
}

func TestDepthAndCountAreBounded(t *testing.T) {
	deep := "adapters: {a: {plugin: p, config: {x: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}}}"
	if _, faults := parse(t, deep); len(faults) != 1 || faults[0].Summary != "is nested deeper than 64 levels" {
		t.Error(faults)
	}
	many := "adapters: {a: {plugin: p, config: {x: [" + strings.Repeat("1,", 110_000) + "]}}}"
	if _, faults := parse(t, many); len(faults) != 1 || faults[0].Summary != "holds more than 100,000 values" {
		t.Error(faults)
	}
	wrong := strings.Builder{}
	for range 50_000 {
		wrong.WriteString("- x\n")
	}
	_, faults := parse(t, "rules:\n"+wrong.String())
	if len(faults) != 1001 || !strings.HasSuffix(faults[0].Summary, "further faults are not shown") {
		t.Errorf("%d faults, the first is %v", len(faults), faults[0])
	}
}

func TestAFileThatCannotBeReadSaysSo(t *testing.T) {
	dir := t.TempDir()
	_, faults := config.Load(filepath.Join(dir, "none.yaml"))
	if len(faults) != 1 || faults[0].Summary != "no such file" || faults[0].Detail == "" {
		t.Error(faults)
	}
	if _, faults := config.Load(dir); len(faults) != 1 || !strings.Contains(faults[0].Summary, "is a directory") {
		t.Error(faults)
	}
}

func TestStoredCredentialsAreNeverShown(t *testing.T) {
	const password = "hunter2hunter2"
	_, faults := parse(t, `
store: mysql://u:`+password+`@h/db
http: {auth: {introspection: {url: "https://x", client_secret: [`+password+`]}}}
mcpServers: {shop: {url: "https://x", headers: {Authorization: {Bearer: `+password+`}}}}
adapters: {a: {plugin: p, env: {P: [`+password+`]}, config: {p: "${`+password+` x"}}}
`)
	if len(faults) < 6 {
		t.Errorf("only %d faults:\n%v", len(faults), faults)
	}
	if strings.Contains(faults.Error(), password) {
		t.Errorf("a credential is shown:\n%v", faults)
	}
}

func TestErrorsAndConfigExcludeEachOther(t *testing.T) {
	for _, yaml := range []string{"", "name: x", "nam: x", "[", "rules: []"} {
		c, faults := parse(t, yaml)
		if (c == nil) != (faults.Err() != nil) {
			t.Errorf("%q: Config %v, faults %v", yaml, c, faults)
		}
	}
}
