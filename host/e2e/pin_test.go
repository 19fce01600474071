// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// folder makes a plugin of a folder: a script that executes a built plugin of
// the folder, so that both are a part of it.
func folder(t *testing.T, dir, name, plugin string) string {
	t.Helper()
	made := filepath.Join(dir, "."+name)
	if err := os.MkdirAll(filepath.Join(made, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	install(t, plugin, filepath.Join(made, "lib"))
	script(t, made, "run", `exec "$1"`)
	manifest := "command: [run, ./lib/" + plugin + "]\n"
	if err := os.WriteFile(filepath.Join(made, "plugin.yaml"), []byte(manifest), 0o644); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(made, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// greets calls the tool of the plugin hello.
func greets(t *testing.T, s *mcp.ClientSession, tool string) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"name": "Ada"}})
	if err != nil || r.IsError {
		t.Fatalf("call of %s: %v, %+v", tool, err, r)
	}
}

func TestAFolderIsAPluginThatIsSwappedWhenAnythingInItChanges(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "")
	h := serve(t, dir)
	session := h.connect("", nil)
	path := folder(t, plugins, "weather", "hello")
	lists(t, session, "weather_greet", true)
	greets(t, session, "weather_greet")

	before := h.adapters()["weather"].PID
	if err := os.WriteFile(filepath.Join(path, "lib", "data.txt"), []byte("rain"), 0o644); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is swapped", func() error {
		if a := h.adapters()["weather"]; a.PID == before || a.State != "ready" {
			return fmt.Errorf("it is %+v", a)
		}
		return nil
	})
	greets(t, session, "weather_greet")
	eventually(t, "the old process is gone", func() error { return gone(before) })

	folder(t, plugins, "weather", "echo")
	lists(t, session, "weather_echo", true)
	lists(t, session, "weather_greet", false)

	pid := h.adapters()["weather"].PID
	if err := os.RemoveAll(filepath.Join(plugins, "weather")); err != nil {
		t.Fatal(err)
	}
	lists(t, session, "weather_echo", false)
	eventually(t, "its process is gone", func() error { return gone(pid) })
}

// fickle are two builds of one plugin: the second claims that its tool, which
// erases, only reads.
var fickle = sync.OnceValues(func() (meek, bold string) {
	source, err := filepath.Abs("testdata/fickle/main.go")
	if err != nil {
		panic(err)
	}
	build := func(name, flags string) string {
		out := filepath.Join(built, "fickle", name)
		// A plugin needs the SDK, which the host's module does not.
		cmd := exec.Command("go", "build", "-C", "../../examples", "-ldflags", flags, "-o", out, source)
		if said, err := cmd.CombinedOutput(); err != nil {
			panic(fmt.Sprintf("%v: %s", err, said))
		}
		return out
	}
	return build("meek", ""), build("bold", "-X main.bold=-bold")
})

// put puts a file in the place of another, as package managers do.
func put(t *testing.T, from, to string) {
	t.Helper()
	fresh := filepath.Join(filepath.Dir(to), "."+filepath.Base(to))
	if out, err := exec.Command("cp", from, fresh).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	if err := os.Rename(fresh, to); err != nil {
		t.Fatal(err)
	}
}

// shown is an adapter with what `adapters show` has beyond the list.
type shown struct {
	adapter
	Version string   `json:"version"`
	Tools   int      `json:"tools"`
	Notes   []string `json:"notes"`
}

// becomes waits until an adapter is as it should be, and returns it.
func (h *host) becomes(name, what string, holds func(shown) bool) (s shown) {
	h.t.Helper()
	eventually(h.t, name+" "+what, func() error {
		stdout, stderr, _ := run(h.t, h.dir, "adapters", "show", name, "--json")
		s = shown{}
		if err := json.Unmarshal([]byte(stdout), &s); err != nil {
			return fmt.Errorf("%s", stderr)
		}
		if !holds(s) {
			return fmt.Errorf("it is %+v", s)
		}
		return nil
	})
	return s
}

// does runs a command and expects its exit code, and words of what it says.
func does(t *testing.T, dir string, code int, args string, words ...string) {
	t.Helper()
	stdout, stderr, got := run(t, dir, strings.Fields(args)...)
	said := stdout + stderr
	if got != code {
		t.Fatalf("toolwharf %s: exit %d, want %d: %s", args, got, code, said)
	}
	for _, w := range words {
		if !strings.Contains(said, w) {
			t.Errorf("toolwharf %s does not say %q: %s", args, w, said)
		}
	}
}

func version(v string) func(shown) bool {
	return func(s shown) bool { return s.State == "ready" && s.Version == v }
}

// erases calls the tool that erases, which nobody may do unasked.
func erases(t *testing.T, s *mcp.ClientSession) bool {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "fickle_erase"})
	if err != nil {
		t.Fatal(err)
	}
	return !r.IsError
}

func TestAToolThatSuddenlyClaimsLessIsHeldBackUntilItIsAccepted(t *testing.T) {
	t.Parallel()
	meek, bold := fickle()
	dir, plugins := workspace(t, "")
	plugin := filepath.Join(plugins, "fickle")
	put(t, meek, plugin)
	h := serve(t, dir)
	session := h.connect("", nil)
	lists(t, session, "fickle_erase", true)
	if erases(t, session) {
		t.Fatal("it erases without approval")
	}

	put(t, bold, plugin)
	s := h.becomes("fickle", "is the bold one", version("1.0.0-bold"))
	notes := strings.Join(s.Notes, "\n")
	for _, want := range []string{
		"tool erase is held back", "effects destructive -> read_only", "idempotent false -> true", "confirm true -> unset",
		"toolwharf plugins pin fickle",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes should say %q: %s", want, notes)
		}
	}
	if !strings.Contains(h.stderr.String(), "tool erase is held back") {
		t.Error("the log does not say it")
	}
	if s.Tools != 2 {
		t.Errorf("%d tools are offered", s.Tools)
	}
	if erases(t, session) {
		t.Fatal("it erases without approval, since it says so")
	}
	stdout, _, _ := run(t, dir, "tools", "show", "fickle_erase")
	if !strings.Contains(stdout, "Erase nothing, really.") || !strings.Contains(stdout, "destructive") {
		t.Errorf("its words are the new ones, its effects the old ones: %s", stdout)
	}

	// Neither a restart nor its absence makes it forgotten.
	h.stop()
	if err := os.Remove(plugin); err != nil {
		t.Fatal(err)
	}
	h = serve(t, dir)
	put(t, bold, plugin)
	h.becomes("fickle", "is back", version("1.0.0-bold"))
	session = h.connect("", nil)
	if erases(t, session) {
		t.Fatal("it erases without approval, having been away")
	}

	does(t, dir, 1, "plugins pin fickle", "+ plugin fickle: executable sha256:", "nothing was pinned", "--yes")
	if erases(t, session) {
		t.Fatal("it erases without approval, though nothing was pinned")
	}
	does(t, dir, 0, "plugins pin fickle --yes",
		"~ tool fickle/erase: effects destructive -> read_only, idempotent false -> true, confirm true -> unset")
	eventually(t, "it counts as accepted", func() error {
		if !erases(t, session) {
			return fmt.Errorf("it does not erase")
		}
		return nil
	})
	if s := h.becomes("fickle", "is ready", version("1.0.0-bold")); len(s.Notes) != 0 {
		t.Errorf("notes are %q", s.Notes)
	}
}

func TestAPinnedHostRunsExactlyWhatTheLockNames(t *testing.T) {
	t.Parallel()
	meek, bold := fickle()
	dir, plugins := workspace(t, "")
	config := filepath.Join(dir, "toolwharf.yaml")
	if err := os.WriteFile(config, []byte("plugins: {dirs: [plugins], trust: pinned, builtin: false}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	plugin := filepath.Join(plugins, "fickle")
	put(t, meek, plugin)
	folder(t, plugins, "weather", "hello")
	h := serve(t, dir)
	for _, name := range []string{"fickle", "weather"} {
		a := h.adapters()[name]
		if a.State != "waiting" || !strings.Contains(a.Cause, "there is no ") || !strings.Contains(a.Cause, "toolwharf plugins pin") {
			t.Errorf("%s without a lock: %+v", name, a)
		}
	}
	does(t, dir, 1, "plugins verify", "there is no", "toolwharf plugins pin")
	does(t, dir, 0, "plugins pin --yes", "+ plugin fickle: executable sha256:", "+ plugin weather: folder sha256:",
		"+ tool fickle/erase: destructive, confirm true", "+ tool weather/greet: read_only")
	session := h.connect("", nil)
	lists(t, session, "fickle_erase", true)
	lists(t, session, "weather_greet", true)
	greets(t, session, "weather_greet")
	does(t, dir, 0, "plugins verify", "2 plugins and 3 tools are as pinned")
	does(t, dir, 0, "plugins list", "executable", "folder", "pinned")

	// A change is not run. What is pinned serves on, from its copy.
	before := h.becomes("fickle", "is ready", version("1.0.0"))
	put(t, bold, plugin)
	data := filepath.Join(plugins, "weather", "lib", "data.txt")
	if err := os.WriteFile(data, []byte("rain"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fickle", "weather"} {
		s := h.becomes(name, "says that it is not as pinned", func(s shown) bool {
			return s.State == "ready" && strings.Contains(s.Cause, "is not as it was pinned")
		})
		if !strings.Contains(s.Cause, "the old one serves on") || !strings.Contains(s.Cause, "toolwharf plugins pin "+name) {
			t.Errorf("cause is %q", s.Cause)
		}
	}
	greets(t, session, "weather_greet")
	if s := h.becomes("fickle", "is ready", version("1.0.0")); s.PID != before.PID {
		t.Errorf("it is %+v, was %+v", s, before)
	}
	does(t, dir, 1, "plugins verify", "~ plugin fickle: executable sha256:", "~ plugin weather: folder sha256:", "2 differences")
	does(t, dir, 0, "plugins list", "changed")

	// Once it is gone, it cannot come back but as pinned.
	process, err := os.FindProcess(before.PID)
	if err == nil {
		err = process.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
	h.becomes("fickle", "waits", func(s shown) bool {
		return s.State == "waiting" && strings.Contains(s.Cause, "is not as it was pinned") && s.PID == 0
	})
	lists(t, session, "fickle_erase", false)

	// Accepting one says nothing about the other.
	does(t, dir, 0, "plugins pin fickle --yes", "~ plugin fickle", "~ tool fickle/erase: effects destructive -> read_only")
	h.becomes("fickle", "is the bold one", version("1.0.0-bold"))
	eventually(t, "it is what was accepted", func() error {
		if got, err := names(t.Context(), session); err != nil || !strings.Contains(strings.Join(got, " "), "fickle_erase") {
			return fmt.Errorf("tools are %v: %w", got, err)
		}
		return nil
	})
	if !erases(t, session) {
		t.Error("it was accepted as read-only")
	}
	does(t, dir, 1, "plugins verify", "~ plugin weather", "1 differences")
	if err := os.Remove(data); err != nil {
		t.Fatal(err)
	}
	h.becomes("weather", "is as pinned again", func(s shown) bool { return s.State == "ready" && s.Cause == "" })
	does(t, dir, 0, "plugins verify", "2 plugins and 3 tools are as pinned")

	// A tool that the lock does not name is not offered, whatever its program.
	lock := filepath.Join(dir, "toolwharf.lock")
	text, err := os.ReadFile(lock)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "    look:") {
			kept = append(kept, line)
		}
	}
	if err := os.WriteFile(lock, []byte(strings.Join(kept, "")), 0o644); err != nil {
		t.Fatal(err)
	}
	lists(t, session, "fickle_look", false)
	s := h.becomes("fickle", "says so", func(s shown) bool { return s.Tools == 1 })
	if !strings.Contains(strings.Join(s.Notes, "\n"), `tool "look" is not offered: it is not pinned (read_only)`) {
		t.Errorf("notes are %q", s.Notes)
	}

	// What is taken out of the lock is drained.
	if err := os.WriteFile(lock, []byte("version: 1\nplugins: {}\nadapters: {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	h.becomes("fickle", "is not pinned any more", func(s shown) bool {
		return s.State == "waiting" && strings.Contains(s.Cause, "plugin fickle is not pinned")
	})
	lists(t, session, "fickle_erase", false)

	// Half a lock changes nothing.
	if err := os.WriteFile(lock, text, 0o644); err != nil {
		t.Fatal(err)
	}
	lists(t, session, "fickle_look", true)
	if err := os.WriteFile(lock, text[:len(text)-20], 0o644); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the half is noticed", func() error {
		if _, stderr, _ := run(t, dir, "adapters", "list"); !strings.Contains(stderr, "the lock does not count") {
			return fmt.Errorf("%s", stderr)
		}
		return nil
	})
	greets(t, session, "weather_greet")
	does(t, dir, 2, "plugins list", "toolwharf.lock:")
}
