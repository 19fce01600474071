// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const secretToken = "hunter2-hunter2"

// options make a plugin of the test binary.
func options(t *testing.T, fault string) Options {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Path: path, Env: map[string]string{faultKey: fault, "GOCOVERDIR": t.TempDir(), "GORACE": "atexit_sleep_ms=0", "CONFORM_TRASH": t.TempDir()},
		Config: json.RawMessage(`{"token":"` + secretToken + `"}`),
		Examples: Examples{
			Calls: map[string][]json.RawMessage{"echo": {json.RawMessage(`{"text":"ahoy"}`)}},
			Slow:  map[string]json.RawMessage{"sleep": json.RawMessage(`{"ms":600000}`)},
		},
	}
}

func judge(t *testing.T, o Options) *Report {
	t.Helper()
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAPluginWithoutAFaultPassesEveryCheck(t *testing.T) {
	r := judge(t, options(t, "none"))
	for _, f := range r.Findings {
		if f.Status != OK && (f.Status != NotRun || runtime.GOOS == "linux") {
			t.Errorf("%s: %s: %s", f.Check, f.Status, f.Reason)
		}
	}
	if len(r.Findings) != len(checks) || r.Name != "broken" || r.Version != "1" {
		t.Errorf("%d findings of %s %s", len(r.Findings), r.Name, r.Version)
	}
}

func TestEveryCheckFindsItsFaults(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("some faults are seen in /proc only")
	}
	hasty := 300 * time.Millisecond
	tried := map[string]bool{}
	for _, tc := range []struct {
		check, fault, reason string
		hurry                func(*bounds) // where the fault is that time passes
	}{
		{"launch/by-hand", "mute", "without a word on stderr", nil},
		{"launch/by-hand", "zero", "ended with status 0", nil},
		{"launch/by-hand", "waits", "still runs", func(b *bounds) { b.exit = hasty }},
		{"launch/wrong-cookie", "any-cookie", "it serves all the same", func(b *bounds) { b.exit = time.Second }},
		{"launch/no-certificate", "plaintext", "it serves all the same", func(b *bounds) { b.exit = time.Second }},
		{"launch/handshake", "dies", "it ended before the handshake; the plugin has ended (exit status 3); the last line on stderr: cannot open the frobnicator", nil},
		{"launch/handshake", "reads-stdin", "it ended before the handshake", nil},
		{"launch/handshake", "silent", "no line on stdout within", func(b *bounds) { b.start = hasty }},
		{"launch/handshake", "garbage", `the first line on stdout is "listening..."`, nil},
		{"launch/handshake", "padded", "without padding", nil},
		{"launch/handshake", "no-certificate-in-line", "has no certificate", nil},
		{"launch/handshake", "version-2", `protocol version is "2"`, nil},
		{"launch/socket", "elsewhere", "the directory that PLUGIN_UNIX_SOCKET_DIR names", nil},
		{"launch/socket", "tcp", "only a unix socket", nil},
		{"launch/certificate", "wrong-name", "valid for example.com", nil},
		{"launch/certificate", "another-certificate", "TLS handshake failed", nil},
		{"launch/certificate", "old-tls", "protocol version", nil},
		{"launch/strangers", "no-client-certificate", "it serves somebody without a certificate", nil},
		{"launch/strangers", "any-client-certificate", "it serves somebody with another certificate", nil},
		{"launch/health", "unhealthy", "NOT_SERVING", nil},
		{"launch/health", "no-health", "Unimplemented", nil},
		{"describe/answer", "name", "Broken Plugin", nil},
		{"describe/answer", "needs-config", "configure me first", nil},
		{"describe/config-schema", "schema", "objekt", nil},
		{"describe/config-schema", "schema-of-anything", "a configuration is an object", nil},
		{"describe/same-twice", "random", "version", nil},
		{"describe/unknown-fields", "strict", "InvalidArgument", nil},
		{"configure/watch-first", "watch-first", "it gave a message", nil},
		{"configure/bad-input", "config-status", "a gRPC status, not diagnostics", nil},
		{"configure/bad-input", "config-crash", "the plugin has ended", nil},
		{"configure/bad-input", "config-pointer", `"config.token"`, nil},
		{"configure/bad-input", "config-mute", "has no summary", nil},
		{"configure/bad-input", "config-takes-anything", "it is accepted", nil},
		{"configure/bad-input", "config-half", "Watch takes it for configured", nil},
		{"configure/check-only", "check-opens-file", "conform.test", nil},
		{"configure/check-only", "check-opens-socket", "a socket", nil},
		{"configure/check-only", "check-writes", "written to cache_dir", nil},
		{"configure/check-only", "check-configures", "takes it for configured", nil},
		{"configure/grants", "relative-grant", `"tmp", which is not absolute`, nil},
		{"configure/grants", "grant-without-port", "not host:port", nil},
		{"configure/grants", "grant-of-no-kind", "which is none", nil},
		{"configure/accepted", "refuses", "it is too good", nil},
		{"configure/accepted", "strict", "a field of a later version", nil},
		{"catalogue/first-message", "note-first", "before the catalogue", nil},
		{"catalogue/first-message", "no-catalogue", "without a catalogue", nil},
		{"catalogue/tools", "tool-name", `"echo!" left out`, nil},
		{"catalogue/tools", "tool-schema", "input schema", nil},
		{"catalogue/tools", "tool-output-schema", "output schema", nil},
		{"catalogue/tools", "tool-twice", "public name", nil},
		{"catalogue/tools", "tool-description", "longer than", nil},
		{"catalogue/tools", "tool-effects", "effects 17", nil},
		{"catalogue/same-twice", "tool-random", `"echo" differs: input_schema`, nil},
		{"catalogue/same-twice", "tool-random-text", `"echo" differs: something besides`, nil},
		{"catalogue/same-twice", "tool-comes-and-goes", "in one process only", nil},
		{"catalogue/features", "no-feature", `"tools"`, nil},
		{"calls/unknown-tool", "unknown-status", "a gRPC status, not an error message", nil},
		{"calls/unknown-tool", "unknown-result", "there was a result", nil},
		{"calls/valid", "two-ends", "after the end of the call", nil},
		{"calls/valid", "no-end", "without a result", nil},
		{"calls/valid", "fails", "an example comes to a result", nil},
		{"calls/valid", "odd-code", `"Not Found"`, nil},
		{"calls/valid", "output", "output schema", nil},
		{"calls/valid", "not-json", "not JSON", nil},
		{"calls/valid", "no-structure", "no structured content", nil},
		{"calls/valid", "progress-falls", "progress went from 2 to 1", nil},
		{"calls/valid", "log-not-json", "log message", nil},
		{"calls/invalid", "invalid-status", "a gRPC status, not an error message", nil},
		{"calls/invalid", "invalid-crash", "the plugin has ended", nil},
		{"calls/huge", "small-messages", "5 MiB", nil},
		{"calls/large-results", "small-answers", "ResourceExhausted", nil},
		{"calls/large-results", "cuts", "did not arrive whole", nil},
		{"calls/result-limit", "no-limit", "max_result_bytes is 4096", nil},
		{"calls/digits", "floats", "9007199254740992", nil},
		{"calls/digits", "trims", "81529.473", nil},
		{"calls/unicode", "ascii", "did not come back", nil},
		{"calls/context", "once", "attempt 2", nil},
		{"calls/unknown-fields", "strict", "InvalidArgument", nil},
		{"calls/parallel", "mixes", "what came back is not it", nil},
		{"calls/deadline", "deaf", "the call still runs", func(b *bounds) { b.heed = hasty }},
		{"calls/cancel", "locks", "after 64 calls of sleep were cancelled", func(b *bounds) { b.call = time.Second }},
		{"calls/questions", "odd-method", `"elicitation"`, nil},
		{"calls/questions", "question-without-message", "no message", nil},
		{"calls/questions", "question-nested", `the field "it"`, nil},
		{"calls/questions", "question-url", "no url", nil},
		{"calls/questions", "sampling-empty", "no messages", nil},
		{"calls/questions", "answer-status", "a gRPC status", nil},
		{"end/shutdown", "stays", "still runs", func(b *bounds) { b.shutdown = hasty }},
		{"end/shutdown", "no-controller", "Unimplemented", nil},
		{"end/host-dies", "orphan", "still runs", func(b *bounds) { b.orphan = hasty }},
		{"end/stdout", "prints", `"ready to serve"`, nil},
		{"end/secrets", "logs-secrets", "on stderr", nil},
		{"end/secrets", "tells-secrets", "in an answer of CallTool", nil},
		{"end/secrets", "config-tells", "in an answer of Configure", nil},
	} {
		tried[tc.check] = true
		t.Run(tc.check+" "+tc.fault, func(t *testing.T) {
			t.Parallel()
			o := options(t, tc.fault)
			o.Only = []string{tc.check}
			if tc.check == "end/secrets" { // what is told is told before
				o.Only = append(o.Only, "configure/bad-input", "calls/valid")
			}
			if tc.hurry != nil {
				b := usual
				tc.hurry(&b)
				o.bounds = &b
			}
			r := judge(t, o)
			f := r.Findings[len(r.Findings)-1]
			if f.Check != tc.check || f.Status != Failed || !strings.Contains(f.Reason, tc.reason) {
				t.Errorf("%+v, want the reason %q", f, tc.reason)
			}
			if strings.Contains(f.Reason, secretToken) {
				t.Errorf("the report tells the secret: %s", f.Reason)
			}
			if dir, err := filepath.EvalSymlinks(filepath.Join(o.Env["CONFORM_TRASH"], "elsewhere")); err == nil {
				_ = os.RemoveAll(dir)
			}
		})
	}
	for _, c := range checks {
		if !tried[c.id] {
			t.Errorf("nothing fails %s", c.id)
		}
	}
}

func TestTheDocumentSaysWhatEachCheckAsks(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "conformance.md"))
	if err != nil {
		t.Skip("not in the repository: ", err)
	}
	var documented []string
	group := ""
	for line := range strings.Lines(string(raw)) {
		if g, _, ok := strings.Cut(strings.TrimPrefix(line, "**"), "**"); ok && strings.HasPrefix(line, "**") {
			group = g
		}
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` | "); ok && group != "" {
			documented = append(documented, group+"/"+name)
		}
	}
	ids := make([]string, 0, len(checks))
	for _, c := range checks {
		ids = append(ids, c.id)
	}
	if diff := cmp.Diff(ids, documented); diff != "" {
		t.Errorf("-checks +document\n%s", diff)
	}
}
