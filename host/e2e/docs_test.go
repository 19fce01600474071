// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// commandsOf are the toolwharf commands of a document's shell blocks.
func commandsOf(t *testing.T, document string) []string {
	t.Helper()
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	inShell := false
	for line := range strings.Lines(string(raw)) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "```"):
			inShell = line == "```sh"
		case inShell && strings.HasPrefix(line, "toolwharf "):
			commands = append(commands, line)
		}
	}
	return commands
}

func TestTheCommandsOfTheApprovalPageWorkAsTheyStandThere(t *testing.T) {
	t.Parallel()
	commands := commandsOf(t, "../../docs/approval.md")
	if len(commands) < 5 {
		t.Fatalf("found only %q", commands)
	}
	dir, _ := approving(t, "http: {allow_anonymous: true, listen: \""+freePort(t)+"\"}\n")
	h := serve(t, dir)
	s := h.connect("", nil)
	lists(t, s, "echo_append_line", true)
	for _, command := range commands {
		r, err := appendLine(t, s, `{"line":"doc","n":1}`, pending{})
		line := strings.ReplaceAll(command, "apr_...", parked(t, r, err).approval)
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+strings.TrimSuffix(toolwharf, "/toolwharf")+":"+os.Getenv("PATH"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
}

func TestWhatTheProtocolPageQuotesIsWhatTheHostSays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| the host says | what to do |")
	if !found {
		t.Fatal("the page has no such table")
	}
	var said strings.Builder
	err = filepath.WalkDir("../internal/adapter", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		said.Write(source)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	quoted := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 3 {
			continue
		}
		for i, text := range strings.Split(cells[1], "`") {
			if i%2 == 0 || text == "authentication handshake failed" { // gRPC says that
				continue
			}
			if quoted++; !strings.Contains(said.String(), text) {
				t.Errorf("the host does not say %q", text)
			}
		}
	}
	if quoted < 15 {
		t.Errorf("only %d quotations were found", quoted)
	}
}

// blocksOf are the fenced blocks of a document that are of one language.
func blocksOf(t *testing.T, document, language string) []string {
	t.Helper()
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, part := range strings.Split(string(raw), "```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	return blocks
}

func TestThePageOfPluginsDoesWhatItSays(t *testing.T) {
	t.Parallel()
	const page = "../../docs/plugins.md"
	dir, plugins := workspace(t, "")
	shell := func(line string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "bash", "-c", line)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(toolwharf)+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}

	yaml := blocksOf(t, page, "yaml")
	if len(yaml) != 2 {
		t.Fatalf("the page has %d blocks of YAML", len(yaml))
	}
	if err := os.WriteFile(filepath.Join(dir, "toolwharf.yaml"), []byte(yaml[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(plugins, "weather")
	if err := os.MkdirAll(filepath.Join(path, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	install(t, "hello", filepath.Join(path, "bin"))
	script(t, filepath.Join(path, "bin"), "server", `[ "$1" = --quiet ] && [ -f "$2" ] && exec "${0%/*}/hello"`)
	for name, text := range map[string]string{"plugin.yaml": yaml[1], "settings.json": "{}"} {
		if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("bin/server", filepath.Join(path, "run")); err != nil {
		t.Fatal(err)
	}

	if out, err := shell("toolwharf plugins pin --yes"); err != nil || !strings.Contains(out, "+ tool weather/greet: read_only") {
		t.Fatalf("pin: %v\n%s", err, out)
	}
	for _, command := range commandsOf(t, page) {
		if out, err := shell(command); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
	}
	for _, block := range blocksOf(t, page, "bash") {
		sum, err := shell(block)
		if err != nil {
			t.Fatalf("%v\n%s", err, sum)
		}
		lock, err := os.ReadFile(filepath.Join(dir, "toolwharf.lock"))
		if err != nil || !strings.Contains(string(lock), "weather: {kind: folder, hash: sha256:"+strings.Fields(sum)[0]+"}") {
			t.Errorf("the list of the page has %s, the lock is\n%s", sum, lock)
		}
	}
}
