// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestResourcesPromptsAndCompletionsOfAPluginReachItsClients(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "rules:\n- deny: ['resources:echo://big/**', 'prompts:echo_converse']\n")
	install(t, "echo", plugins)
	h := serve(t, dir)
	for _, version := range []string{"2026-07-28", "2025-06-18"} {
		t.Run(version, func(t *testing.T) {
			s := h.connect(version, nil)
			resources, err := s.ListResources(t.Context(), nil)
			if err != nil || !slices.ContainsFunc(resources.Resources, func(r *mcp.Resource) bool { return r.URI == "echo://about" && r.MIMEType == "text/markdown" }) {
				t.Fatalf("%+v, %v", resources, err)
			}
			read := func(uri string) (string, error) {
				r, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
				if err != nil {
					return "", err
				}
				return r.Contents[0].Text + string(r.Contents[0].Blob), nil
			}
			for uri, want := range map[string]string{
				"echo://about":                "# Echo\n\nIt gives back what it gets.\n",
				"echo://repeat/a%20b?times=3": "a b\na b\na b\n",
			} {
				if got, err := read(uri); err != nil || got != want {
					t.Errorf("%s: %q, %v", uri, got, err)
				}
			}
			if got, err := read("echo://pixel"); err != nil || !strings.HasPrefix(got, "\x89PNG") {
				t.Errorf("the picture is %q, %v", got, err)
			}
			for uri, want := range map[string]string{
				"echo://nothing":    `unknown resource "echo://nothing"`,
				"echo://notes/{x}":  "unknown resource",
				"echo://notes/9":    "echo://notes/9",
				"echo://big/5":      "unknown resource",
				"file:///etc/hosts": "unknown resource",
			} {
				if got, err := read(uri); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q, %v", uri, got, err)
				}
			}
			greeting, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "echo_greet", Arguments: map[string]string{"name": "Ann"}})
			if err != nil || greeting.Messages[0].Content.(*mcp.TextContent).Text != "Write a warm greeting for Ann." {
				t.Errorf("%+v, %v", greeting, err)
			}
			for name, want := range map[string]string{"echo_greet": "name", "echo_converse": `unknown prompt "echo_converse"`, "greet": `unknown prompt "greet"`} {
				if p, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name}); err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %+v, %v", name, p, err)
				}
			}
			done, err := s.Complete(t.Context(), &mcp.CompleteParams{
				Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "echo_greet"}, Argument: mcp.CompleteParamsArgument{Name: "name", Value: "crew-1"},
			})
			if err != nil || len(done.Completion.Values) != 50 || done.Completion.Values[0] != "crew-100" {
				t.Errorf("%+v, %v", done, err)
			}
		})
	}
	eventually(t, "the ledger has every kind", func() error { // reads are written behind
		stdout, stderr, code := run(t, dir, "ledger", "query", "--json")
		for _, want := range []string{`"op":"resource"`, `"op":"prompt"`, `"op":"completion"`, `"tool":"resources:echo://about"`} {
			if !strings.Contains(stdout, want) {
				return fmt.Errorf("no %s; exit %d, %s", want, code, stderr)
			}
		}
		return nil
	})
}

func TestAHookSeesWhatItIsNamedForAndNothingElse(t *testing.T) {
	t.Parallel()
	const token = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"
	dir, plugins := workspace(t, `
adapters:
  scanner: {plugin: scanner, config: {}}
hooks:
- {adapter: scanner, tools: [echo_echo], powers: [refuse, edit_result]}
- {adapter: absent, tools: [echo_fail], powers: [refuse]}
`)
	install(t, "echo", plugins)
	install(t, "scanner", plugins)
	h := serve(t, dir)
	call := func(tool, text string) (string, string) {
		t.Helper()
		r, err := h.connect("2026-07-28", nil).CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"text": text}})
		if err != nil {
			return err.Error(), ""
		}
		code, _ := r.Meta["toolwharf/error_code"].(string)
		raw, err := json.Marshal(r.Content)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw), code
	}
	if got, code := call("echo_echo", "harmless"); code != "" || !strings.Contains(got, "harmless") {
		t.Errorf("harmless: %s, %s", got, code)
	}
	if got, code := call("echo_echo", token); code != "secret_in_arguments" || strings.Contains(got, token) {
		t.Errorf("a secret: %s, %s", got, code)
	}
	if got, code := call("echo_fail", "x"); code != "hook_failed" {
		t.Errorf("a hook that is not there: %s, %s", got, code)
	}
	if stdout, _, code := run(t, dir, "explain", "echo_echo", "--args", `{"text":"`+token+`"}`); code != 0 || !strings.Contains(stdout, "hook:scanner") {
		t.Errorf("explain: %d, %s", code, stdout)
	}
	// The hook dies: its next judgement is that of its successor.
	before := h.adapters()["scanner"]
	if err := syscall.Kill(before.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, code := call("echo_echo", token); code != "secret_in_arguments" {
		t.Errorf("after its death: %s", code)
	}
	// A hook can be named without a restart.
	file := filepath.Join(dir, "toolwharf.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "tools: [echo_echo]", "tools: [shop_*]", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the hook acts no more", func() error {
		if got, code := call("echo_echo", token); code != "" || !strings.Contains(got, token) {
			return fmt.Errorf("%s, %s", got, code)
		}
		return nil
	})
}

func TestAClientHearsOfAResourceThatChangesAlsoAfterACrash(t *testing.T) {
	t.Parallel()
	dir, plugins := workspace(t, "rules: [{allow: [echo_write_note]}]\n")
	install(t, "echo", plugins)
	h := serve(t, dir)
	heard := make(chan string, 99)
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { heard <- r.Params.URI },
	})
	s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: h.url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "echo://notes"}); err != nil {
		t.Fatal(err)
	}
	// A subscription reaches the plugin a moment after it was granted, so notes
	// are written until one is heard of.
	changes := func() {
		t.Helper()
		eventually(t, "the change is heard of", func() error {
			r, err := h.connect("2026-07-28", nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "echo_write_note", Arguments: map[string]any{"text": "x"}})
			if err != nil || r.IsError {
				return fmt.Errorf("%+v, %w", r, err)
			}
			select {
			case uri := <-heard:
				if uri != "echo://notes" {
					t.Errorf("heard of %s", uri)
				}
				return nil
			case <-time.After(200 * time.Millisecond):
				return errors.New("not yet")
			}
		})
	}
	changes()
	if err := syscall.Kill(h.adapters()["echo"].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it runs again", func() error {
		if a := h.adapters()["echo"]; a.State != "ready" || a.PID == 0 {
			return errors.New(a.State)
		}
		return nil
	})
	for len(heard) > 0 { // of before
		<-heard
	}
	changes()
}
