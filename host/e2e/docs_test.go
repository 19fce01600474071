// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
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
