// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// wish is what a client is asked to do: to call a tool, or to list them if it has no
// name. See recipes/client.mjs.
type wish struct {
	Name      string            `json:"name,omitempty"`
	Arguments json.RawMessage   `json:"arguments,omitempty"`
	Meta      map[string]string `json:"meta,omitempty"`
}

// heardOf is what a client says of it. What it does not show is not there.
type heardOf struct {
	Tools    []string
	Protocol string
	Text     string
	IsError  *bool
	Meta     map[string]any
	Thrown   string
}

func (s heardOf) meta(key string) string {
	text, _ := s.Meta["toolwharf/"+key].(string)
	return text
}

// asker has a client do something.
type asker func(wish) (heardOf, error)

func (a asker) ask(t *testing.T, w wish) heardOf {
	t.Helper()
	s, err := a(w)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// customer is a client of docs/connect.md.
type customer struct {
	// protocol is what it negotiates; "": it does not say.
	protocol string
	// blind: of a result that is an error it shows its text, and nothing else.
	blind bool
	// mute: it cannot say `_meta`, so it cannot call again with the keys of a call
	// that waits for approval.
	mute bool
	// shy: it calls what is listed, and nothing else.
	shy bool

	comes func(t *testing.T, k *kitchen, h *host, token string) asker
}

var customers = map[string]customer{
	"TypeScript SDK 2":           {protocol: "2026-07-28", comes: inNode("ts2")},
	"TypeScript SDK 2, as it is": {protocol: "2025-11-25", comes: inNode("ts2legacy")},
	"TypeScript SDK 1":           {protocol: "2025-11-25", comes: inNode("ts1")},
	"Vercel AI SDK":              {mute: true, comes: inNode("ai")},
	"OpenAI Agents SDK":          {comes: inNode("openai")},
	"LangChain.js":               {blind: true, mute: true, shy: true, comes: inNode("langchain")},
	"Python SDK":                 {comes: inPython("python")},
	"FastMCP":                    {comes: inPython("fastmcp")},
	"Java SDK":                   {protocol: "2025-11-25", comes: inJava},
	"MCP Inspector":              {shy: true, comes: inspector("legacy")},
	"MCP Inspector, modern":      {shy: true, comes: inspector("modern")},
	"mcp-remote":                 {protocol: "2026-07-28", comes: overRemote},
	"Go SDK":                     {protocol: "2026-07-28", comes: inGo("2026-07-28")},
	"Go SDK of 2025-06-18":       {protocol: "2025-06-18", comes: inGo("2025-06-18")},
	"Go SDK over stdio":          {protocol: "2026-07-28", comes: desktop},
}

func inNode(name string) func(*testing.T, *kitchen, *host, string) asker {
	return func(t *testing.T, k *kitchen, h *host, token string) asker {
		return interview(t, k.node, "recipes/client.mjs", name, h.url, token)
	}
}

func inPython(name string) func(*testing.T, *kitchen, *host, string) asker {
	return func(t *testing.T, k *kitchen, h *host, token string) asker {
		return interview(t, k.python, "recipes/client.py", name, h.url, token)
	}
}

func inJava(t *testing.T, k *kitchen, h *host, token string) asker {
	return interview(t, k.java, "-XX:TieredStopAtLevel=1", "-cp", k.jars, "recipes/java/Client.java", h.url, token)
}

// interview starts a program that is asked a line at a time.
func interview(t *testing.T, program string, args ...string) asker {
	t.Helper()
	cmd := exec.Command(program, args...)
	stderr := &buffer{}
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = in.Close() // and so it ends
		defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
		for line := range lines {
			t.Errorf("unasked: %s", line)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, stderr)
		}
	})
	return func(w wish) (s heardOf, err error) {
		raw, err := json.Marshal(w)
		if err != nil {
			return s, err
		}
		if _, err := fmt.Fprintf(in, "%s\n", raw); err != nil {
			return s, fmt.Errorf("%w\n%s", err, stderr)
		}
		select {
		case line := <-lines:
			if err := json.Unmarshal([]byte(line), &s); err != nil {
				return s, fmt.Errorf("%s: %w: %q\n%s", raw, err, line, stderr)
			}
			return s, nil
		case <-time.After(patience):
			return s, fmt.Errorf("%s: no answer\n%s", raw, stderr)
		}
	}
}

// inspector runs the MCP Inspector once for each wish.
func inspector(era string) func(*testing.T, *kitchen, *host, string) asker {
	return func(t *testing.T, k *kitchen, h *host, token string) asker {
		return func(w wish) (heardOf, error) {
			args := []string{
				"--cli", h.url, "--transport", "http", "--protocol-era", era, "--header", "Authorization: Bearer " + token, "--format", "json",
			}
			if w.Name == "" {
				args = append(args, "--method", "tools/list")
			} else {
				args = append(args, "--method", "tools/call", "--tool-name", w.Name)
			}
			var arguments map[string]json.RawMessage
			if len(w.Arguments) > 0 {
				if err := json.Unmarshal(w.Arguments, &arguments); err != nil {
					return heardOf{}, err
				}
			}
			for name, value := range arguments {
				args = append(args, "--tool-arg", name+"="+string(value))
			}
			for key, value := range w.Meta {
				args = append(args, "--tool-metadata", key+"="+value)
			}
			return k.inspected(t, args)
		}
	}
}

func (k *kitchen) inspected(t *testing.T, args []string) (heardOf, error) {
	cmd := exec.CommandContext(t.Context(), filepath.Join(k.bin, "mcp-inspector"), args...)
	cmd.Dir, cmd.Env = k.dir, append(os.Environ(), "PATH="+k.path(), "HOME="+k.dir)
	stderr := &buffer{}
	cmd.Stderr = stderr
	out, failed := cmd.Output() // as it does of a result that is an error
	var said struct {
		Result *struct {
			Tools   []struct{ Name string }
			Content []struct{ Text string }
			IsError bool
			Meta    map[string]any `json:"_meta"`
		}
		Error struct{ Message string }
	}
	if len(out) == 0 {
		out = []byte(stderr.String())
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return heardOf{}, fmt.Errorf("%w, %w: %s\n%s", failed, err, out, stderr)
	}
	if said.Result == nil {
		return heardOf{Thrown: said.Error.Message}, nil
	}
	s := heardOf{IsError: &said.Result.IsError, Meta: said.Result.Meta}
	for _, tool := range said.Result.Tools {
		s.Tools = append(s.Tools, tool.Name)
	}
	for _, block := range said.Result.Content {
		s.Text += block.Text
	}
	return s, nil
}

// inGo is the client of every other test.
func inGo(protocol string) func(*testing.T, *kitchen, *host, string) asker {
	return func(t *testing.T, _ *kitchen, h *host, token string) asker {
		return session(t, &mcp.StreamableClientTransport{Endpoint: h.url, HTTPClient: &http.Client{Transport: headers{"Authorization": "Bearer " + token}}}, protocol)
	}
}

// desktop is a host of its own, as a desktop client starts it, of the same
// configuration and store.
func desktop(t *testing.T, _ *kitchen, h *host, _ string) asker {
	cmd, _ := stdioCommand(t, h.dir)
	return session(t, &mcp.CommandTransport{Command: cmd}, "2026-07-28")
}

func overRemote(t *testing.T, k *kitchen, h *host, token string) asker {
	cmd := exec.Command(filepath.Join(k.bin, "mcp-remote"), h.url, "--allow-http", "--header", "Authorization: Bearer "+token)
	cmd.Dir, cmd.Env = k.dir, append(os.Environ(), "PATH="+k.path(), "HOME="+k.dir)
	return session(t, &mcp.CommandTransport{Command: cmd}, "")
}

func session(t *testing.T, transport mcp.Transport, protocol string) asker {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return func(w wish) (heardOf, error) {
		if w.Name == "" {
			listed, err := names(t.Context(), s)
			return heardOf{Tools: listed, Protocol: s.InitializeResult().ProtocolVersion}, err
		}
		params := &mcp.CallToolParams{Name: w.Name, Arguments: w.Arguments, Meta: mcp.Meta{}}
		for key, value := range w.Meta {
			params.Meta[key] = value
		}
		r, err := s.CallTool(t.Context(), params)
		if err != nil {
			return heardOf{Thrown: err.Error()}, nil //nolint:nilerr // that is what it hears
		}
		return heardOf{Text: textOf(r), IsError: &r.IsError, Meta: r.Meta}, nil
	}
}

// shop is a host whose callers are known by tokens, one for each client.
func shop(t *testing.T, approval string) (h *host, lines string, tokens map[string]string) {
	t.Helper()
	tokens = map[string]string{}
	var known []string
	for name := range customers {
		token := newToken(t, "--client-id", name)
		tokens[name] = token.Token
		known = append(known, fmt.Sprintf("{sha256: %q, client_id: %q}", token.SHA256, name))
	}
	dir, lines := approving(t, fmt.Sprintf("approval: %s\nhttp: {listen: %q, auth: {tokens: [%s]}}\n", approval, freePort(t), strings.Join(known, ", ")))
	return serve(t, dir), lines, tokens
}

// errs fails the test unless the client shows an error as much as it can.
func (c customer) errs(t *testing.T, s heardOf, kind, text string) {
	t.Helper()
	if c.blind {
		if !strings.Contains(s.Thrown, text) || s.IsError != nil || s.Meta != nil {
			t.Errorf("it shows %+v, not only %q", s, text)
		}
		return
	}
	if s.IsError == nil || !*s.IsError || s.meta("error_kind") != kind || !strings.Contains(s.Text, text) {
		t.Errorf("it shows %+v, not %s %q", s, kind, text)
	}
}

func TestEveryClientListsCallsHearsOfErrorsAndResumesAnApprovedCallIfItCan(t *testing.T) {
	t.Parallel()
	k := newKitchen(t)
	h, lines, tokens := shop(t, "deferred")
	waiting, waitingLines, waitingTokens := shop(t, "{mode: deferred, wait: 10m}")
	for name, c := range customers {
		t.Run(name, func(t *testing.T) {
			a := c.comes(t, k, h, tokens[name])
			listed := a.ask(t, wish{})
			if !slices.Contains(listed.Tools, "echo_echo") || listed.Protocol != c.protocol {
				t.Errorf("it lists %+v", listed)
			}
			if s := a.ask(t, wish{Name: "echo_echo", Arguments: json.RawMessage(`{"text":"héllo"}`)}); s.Text != "héllo" || s.Thrown != "" {
				t.Errorf("it hears %+v", s)
			}
			c.errs(t, a.ask(t, wish{Name: "echo_fail", Arguments: json.RawMessage(`{"kind":"tool_error","code":"not_there","text":"no such thing"}`)}),
				"tool_error", "no such thing")
			if !c.shy {
				if s := a.ask(t, wish{Name: "echo_nothing", Arguments: json.RawMessage(`{}`)}); !strings.Contains(s.Thrown, `unknown tool "echo_nothing"`) {
					t.Errorf("of a tool that there is not it says %+v", s)
				}
			}

			line := wish{Name: "echo_append_line", Arguments: json.RawMessage(fmt.Sprintf(`{"line":%q,"n":1}`, name))}
			parked := a.ask(t, line)
			c.errs(t, parked, "approval_pending", "approval required: apr_")
			said := parked.Text + parked.Thrown
			id := said[max(strings.Index(said, "apr_"), 0):]
			decide(t, h.dir, "approve", id[:min(30, len(id))])
			line.Meta = map[string]string{"toolwharf/run_id": parked.meta("run_id"), "toolwharf/call_id": parked.meta("call_id")}
			again := a.ask(t, line)
			left := func(lines string) bool {
				return slices.ContainsFunc(ran(t, lines), func(line string) bool { return strings.HasPrefix(line, name) })
			}
			if !c.mute {
				if again.IsError == nil || *again.IsError || !left(lines) {
					t.Errorf("after approval it hears %+v", again)
				}
				return
			}
			c.errs(t, again, "approval_pending", "approval required: apr_")
			if strings.Contains(again.Text+again.Thrown, id) || left(lines) {
				t.Errorf("without its keys the call counts as the approved one: %+v", again)
			}

			// What it can is to wait.
			a = c.comes(t, k, waiting, waitingTokens[name])
			answered := make(chan heardOf, 1)
			line.Meta = nil
			go func() {
				defer close(answered)
				s, err := a(line)
				if err != nil {
					t.Error(err)
				}
				answered <- s
			}()
			decide(t, waiting.dir, "approve", onlyOne(t, waiting.dir, "pending"))
			if s := <-answered; s.Thrown != "" || s.IsError != nil && *s.IsError || !left(waitingLines) {
				t.Errorf("after it has waited it hears %+v", s)
			}
		})
	}
}
