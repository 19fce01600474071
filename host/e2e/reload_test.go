// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// rewrite changes the configuration of a running host, as an editor does that
// writes beside the file and renames.
func (h *host) rewrite(change func(string) string) {
	h.t.Helper()
	file := filepath.Join(h.dir, "toolwharf.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(file+"~", []byte(change(string(text))), 0o600); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Rename(file+"~", file); err != nil {
		h.t.Fatal(err)
	}
}

// replaces is a change of a configuration.
func replaces(old, with string) func(string) string {
	return func(text string) string { return strings.Replace(text, old, with, 1) }
}

// reloads waits until the ledger has as many rows of reloads, and returns the
// last of them.
func (h *host) reloads(n int) (row struct {
	Outcome string `json:"outcome"`
	Code    string `json:"error_code"`
	Detail  string `json:"detail"`
	By      string `json:"principal"`
	Args    string `json:"args"`
},
) {
	h.t.Helper()
	eventually(h.t, fmt.Sprintf("%d reloads are recorded", n), func() error {
		stdout, stderr, code := run(h.t, h.dir, "ledger", "query", "--op", "reload", "--json")
		if code != 0 {
			return errors.New(stderr)
		}
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		if stdout == "" || len(lines) != n {
			return fmt.Errorf("rows:\n%s", stdout)
		}
		return json.Unmarshal([]byte(lines[n-1]), &row)
	})
	return row
}

// faults are what /readyz lists while the host is ready.
func (h *host) faults() string {
	h.t.Helper()
	resp, err := http.Get(h.base + "/readyz")
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, _ := io.ReadAll(resp.Body)
	var ready struct {
		Status string   `json:"status"`
		Faults []string `json:"faults"`
	}
	if err := json.Unmarshal(body, &ready); err != nil || resp.StatusCode != http.StatusOK || ready.Status != "ready" {
		h.t.Errorf("/readyz: %s: %s", resp.Status, body)
	}
	return strings.Join(ready.Faults, "\n")
}

func greet(t *testing.T, s *mcp.ClientSession, tool string) (*mcp.CallToolResult, error) {
	t.Helper()
	return s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"name": "Ada"}})
}

func TestChangedRulesHoldForTheNextCallOfAnOpenConnection(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "rules: [{allow: [hello_greet]}]\ninstructions: be kind\n")
	install(t, "hello", plugins)
	h := serve(t, dir)
	session := h.connect("2025-11-25", nil)
	if r, err := greet(t, session, "hello_greet"); err != nil || r.IsError {
		t.Fatalf("before: %v, %+v", err, r)
	}
	pid := h.adapters()["hello"].PID
	h.rewrite(func(text string) string {
		return replaces("allow: [hello_greet]", "deny: [hello_greet]")(replaces("be kind", "be brief")(text))
	})
	row := h.reloads(1)
	_, err := greet(t, session, "hello_greet")
	unknown(t, err, "hello_greet")
	lists(t, session, "hello_greet", false)
	if got := h.connect("", nil).InitializeResult().Instructions; got != "be brief" {
		t.Errorf("the next client is instructed %q", got)
	}
	if row.Outcome != "ok" || row.Code != "" || !strings.Contains(row.Detail, "changed: instructions, rules") || row.Args == "" || !strings.HasPrefix(row.By, "operator/") {
		t.Errorf("recorded as %+v", row)
	}
	if now := h.adapters()["hello"].PID; now != pid {
		t.Errorf("its adapter was restarted: %d, was %d", now, pid)
	}
	if stdout, _, _ := run(t, dir, "ledger", "tail"); !strings.Contains(stdout, " reload by operator/") {
		t.Errorf("ledger tail:\n%s", stdout)
	}
	if _, stderr, code := run(t, dir, "ledger", "verify"); code != 0 {
		t.Errorf("ledger verify: exit %d: %s", code, stderr)
	}
	for _, command := range commandsOf(t, "../../docs/reload.md") {
		stdout, stderr, code := run(t, dir, strings.Fields(command)[1:]...)
		if code != 0 || !strings.Contains(stdout, "changed: instructions, rules") {
			t.Errorf("%s: exit %d: %s%s", command, code, stdout, stderr)
		}
	}
}

func TestAdaptersComeChangeAndGoWhileAnotherServesWithoutAGap(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, `
adapters:
  steady: {plugin: hello}
  moving: {plugin: hello, env: {N: "1"}}
  going: {plugin: hello}
`)
	install(t, "hello", plugins)
	h := serve(t, dir)
	before := h.adapters()

	done := make(chan struct{})
	var calls atomic.Int64
	failed := make(chan error, 1)
	callers := make(chan struct{})
	for range 2 {
		session := h.connect("", nil)
		go func() {
			defer func() { callers <- struct{}{} }()
			for {
				select {
				case <-done:
					return
				default:
				}
				if r, err := greet(t, session, "steady_greet"); err != nil || r.IsError {
					select {
					case failed <- fmt.Errorf("%w, %+v", err, r):
					default:
					}
				}
				calls.Add(1)
			}
		}()
	}
	session := h.connect("", nil)
	h.rewrite(func(text string) string {
		return replaces("  going: {plugin: hello}\n", "  coming: {plugin: hello}\n")(replaces(`N: "1"`, `N: "2"`)(text))
	})
	h.reloads(1)
	lists(t, session, "coming_greet", true)
	lists(t, session, "going_greet", false)
	eventually(t, "the old processes are gone", func() error {
		return errors.Join(gone(before["going"].PID), gone(before["moving"].PID))
	})
	h.faults() // ready all the time
	enough := calls.Load() + 20
	eventually(t, "calls go on", func() error {
		if n := calls.Load(); n < enough {
			return fmt.Errorf("%d of %d", n, enough)
		}
		return nil
	})
	close(done)
	<-callers
	<-callers
	select {
	case err := <-failed:
		t.Errorf("a call failed: %v", err)
	default:
	}
	after := h.adapters()
	if after["steady"].PID != before["steady"].PID || after["moving"].PID == before["moving"].PID || after["coming"].State != "ready" {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	// The file is the same: nothing is to be done, and that is recorded.
	if err := h.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if row := h.reloads(2); row.Outcome != "ok" || row.Detail != "SIGHUP; changed: nothing" {
		t.Errorf("recorded as %+v", row)
	}
	for name, a := range h.adapters() {
		if a.PID != after[name].PID {
			t.Errorf("%s was restarted", name)
		}
	}
}

func TestAFileThatIsBrokenChangesNothingAndIsShownUntilItIsMended(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "rules: [{allow: [hello_greet]}]\n")
	install(t, "hello", plugins)
	h := serve(t, dir)
	session := h.connect("", nil)
	pid := h.adapters()["hello"].PID
	h.rewrite(func(text string) string { return text + "rulez: []\nname: [S3CR3T-of-somebody]\n" })

	row := h.reloads(1)
	if row.Outcome != "refused" || row.Code != "config_refused" || row.Args != "" ||
		!strings.Contains(row.Detail, "rulez") || strings.Contains(row.Detail, "S3CR3T") {
		t.Errorf("recorded as %+v", row)
	}
	if faults := h.faults(); !strings.Contains(faults, "rulez") || !strings.Contains(faults, "name") || !strings.Contains(faults, "toolwharf.yaml:5:") {
		t.Errorf("/readyz lists %s", faults)
	}
	if log := h.stderr.String(); !strings.Contains(log, "configuration not reloaded") || !strings.Contains(log, "rulez") {
		t.Error("the log does not say it")
	}
	stdout, stderr, code := run(t, dir, "adapters", "list", "--json")
	if code != 0 || !strings.Contains(stderr, "reload refused") || !strings.Contains(stderr, "rulez") || !json.Valid([]byte(stdout)) {
		t.Errorf("adapters list: exit %d: %s\n%s", code, stdout, stderr)
	}
	if r, err := greet(t, session, "hello_greet"); err != nil || r.IsError || h.adapters()["hello"].PID != pid {
		t.Errorf("it does not serve on: %v, %+v", err, r)
	}

	h.rewrite(func(text string) string {
		text, _, _ = strings.Cut(text, "rulez")
		return strings.Replace(text, "allow:", "deny:", 1)
	})
	h.reloads(2)
	if faults := h.faults(); faults != "" {
		t.Errorf("after it was mended /readyz lists %s", faults)
	}
	_, err := greet(t, session, "hello_greet") // the mended file holds
	unknown(t, err, "hello_greet")
}

func TestAFileThatOthersMayWriteIsNotTakenOver(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "rules: [{deny: [hello_greet]}]\n")
	install(t, "hello", plugins)
	h := serve(t, dir)
	file := filepath.Join(dir, "toolwharf.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "deny:", "allow:", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if row := h.reloads(1); row.Outcome != "refused" {
		t.Errorf("recorded as %+v", row)
	}
	if faults := h.faults(); !strings.Contains(faults, "chmod go-w") {
		t.Errorf("/readyz lists %s", faults)
	}
	_, err = greet(t, h.connect("", nil), "hello_greet") // the file of others does not hold
	unknown(t, err, "hello_greet")
	if _, stderr, code := run(t, dir, "serve"); code != 2 || !strings.Contains(stderr, "chmod go-w") {
		t.Errorf("serve: exit %d: %s", code, stderr)
	}
}

func TestWhatNeedsARestartIsNamedAndTheRestHolds(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "rules: [{allow: [hello_greet]}]\napproval: {mode: deferred, expires: 5m}\n")
	install(t, "hello", plugins)
	h := serve(t, dir)
	old := h.base
	h.rewrite(func(text string) string {
		text = strings.Replace(text, "expires: 5m", "expires: 6m", 1)
		text = strings.Replace(text, "allow:", "deny:", 1)
		return listenLine.ReplaceAllString(text, `listen: "`+freePort(t)+`"`)
	})
	const want = "needs a restart: approval.expires, http.listen; the old values hold until then"
	if row := h.reloads(1); row.Outcome != "ok" || row.Code != "restart_needed" || row.Detail != "the file changed; changed: rules; "+want {
		t.Errorf("recorded as %+v", row)
	}
	h.base = old
	if faults := h.faults(); !strings.Contains(faults, want) {
		t.Errorf("/readyz lists %s", faults)
	}
	_, err := greet(t, h.connect("", nil), "hello_greet") // the rest holds
	unknown(t, err, "hello_greet")
	h.rewrite(func(text string) string {
		text = strings.Replace(text, "expires: 6m", "expires: 5m", 1)
		return listenLine.ReplaceAllString(text, `listen: "`+strings.TrimPrefix(old, "http://")+`"`)
	})
	h.reloads(2)
	if faults := h.faults(); faults != "" {
		t.Errorf("after it was taken back /readyz lists %s", faults)
	}
}

func TestAChangedSecretFileRestartsItsAdapterAtTheNextReload(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, `
adapters:
  keyed: {plugin: hello, env: {KEY: "${file:key}"}}
  plain: {plugin: hello}
`)
	install(t, "hello", plugins)
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("first"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := serve(t, dir)
	before := h.adapters()
	if err := os.WriteFile(key, []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the adapter is another process", func() error {
		if a := h.adapters()["keyed"]; a.State != "ready" || a.PID == before["keyed"].PID {
			return fmt.Errorf("%+v", a)
		}
		return nil
	})
	if a := h.adapters()["plain"]; a.PID != before["plain"].PID {
		t.Error("the other one was restarted")
	}
}

func TestRulesThatWentWithAPrefixHoldForTheAdapterThatIsStillThere(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, `
defaults: {additive: allow, destructive: allow}
rules: [{deny: ["old_*"]}]
adapters:
  greeter: {plugin: hello, prefix: old_}
`)
	install(t, "hello", plugins)
	h := serve(t, dir)
	session := h.connect("", nil)
	script(t, plugins, "broken", "exit 3")
	// The new one does not start, so the old one serves on under its old names.
	h.rewrite(func(text string) string {
		text = strings.Replace(text, `"old_*"`, `"new_*"`, 1)
		return strings.Replace(text, "plugin: hello, prefix: old_", "plugin: broken, prefix: new_", 1)
	})
	eventually(t, "the new one was tried", func() error {
		if a := h.adapters()["greeter"]; !strings.Contains(a.Cause, "the old one serves on") {
			return fmt.Errorf("%+v", a)
		}
		return nil
	})
	_, err := greet(t, session, "old_greet")
	unknown(t, err, "old_greet")
	lists(t, session, "old_greet", false)
}

func TestAHostOverStdioReloadsToo(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "rules: [{allow: [hello_greet]}]\n")
	install(t, "hello", plugins)
	cmd, stderr := stdioCommand(t, dir)
	told := make(chan struct{}, 16)
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} },
	})
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	if err != nil {
		t.Fatalf("connect: %v\n%s", err, stderr)
	}
	h := &host{t: t, dir: dir}
	lists(t, session, "hello_greet", true)
	if r, err := greet(t, session, "hello_greet"); err != nil || r.IsError {
		t.Fatalf("before: %v, %+v", err, r)
	}
	for len(told) > 0 { // of the plugin's start
		<-told
	}
	h.rewrite(replaces("allow:", "deny:"))
	h.reloads(1)
	_, err = greet(t, session, "hello_greet")
	unknown(t, err, "hello_greet")
	heard(t, told, "that its list is another")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	h.reloads(2)
	if err := session.Close(); err != nil {
		t.Errorf("close: %v\n%s", err, stderr)
	}
}
