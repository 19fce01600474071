// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const connectPage = "../../docs/connect.md"

// kitchen is where recipes are run: a directory beside whose files the packages of the
// clients are found.
type kitchen struct {
	dir, bin, node, python, java, jars string

	said *strings.Replacer // of what is another than on the page; see open
}

func newKitchen(t *testing.T) *kitchen {
	t.Helper()
	absentUnless(t, "recipes", "@ai-sdk")
	python, err := filepath.Abs(filepath.Join("recipes", ".venv", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(python); err != nil {
		absent(t, "the Python packages of recipes are not installed")
	}
	modules, jars := absolute(t, "recipes/node_modules"), absolute(t, "recipes/java/target/lib")
	if _, err := os.Stat(jars); err != nil {
		absent(t, "the Java packages of recipes are not there")
	}
	k := &kitchen{
		dir: t.TempDir(), bin: filepath.Join(modules, ".bin"),
		node: node22(t), python: python, java: java(t), jars: filepath.Join(jars, "*"),
	}
	if err := os.Symlink(modules, filepath.Join(k.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return k
}

// open starts a host as the page has it.
func (k *kitchen) open(t *testing.T) {
	t.Helper()
	config := blocksOf(t, connectPage, "yaml")
	if len(config) != 1 {
		t.Fatalf("the page has %d blocks of YAML", len(config))
	}
	token := newToken(t, "--client-id", "agent")
	dir, plugins := workspace(t, "")
	text := strings.Replace(config[0], `"..."`, token.SHA256, 1)
	if err := os.WriteFile(filepath.Join(dir, "toolwharf.yaml"), []byte(strings.Replace(text, "http: {", `http: {listen: "`+freePort(t)+`", `, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	install(t, "hello", plugins)
	h := serve(t, dir)
	k.said = strings.NewReplacer("http://127.0.0.1:8000", h.base, "twh_...", token.Token)
}

// cook runs a program, and returns what it has said.
func (k *kitchen) cook(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = k.dir, append(os.Environ(), "PATH="+k.path())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (k *kitchen) path() string {
	return strings.Join([]string{k.bin, filepath.Dir(k.node), os.Getenv("PATH")}, string(os.PathListSeparator))
}

func TestTheRecipesOfTheConnectPageWorkAsTheyStandThere(t *testing.T) {
	k := newKitchen(t)
	k.open(t)
	for language, cook := range map[string]struct {
		recipes int
		program []string
		file    string
	}{
		"js":     {5, []string{k.node}, "recipe.mjs"},
		"python": {2, []string{k.python}, "recipe.py"},
		"java":   {1, []string{k.java, "-cp", k.jars}, "Recipe.java"},
		"bash":   {1, []string{"bash"}, "recipe.sh"},
	} {
		recipes := blocksOf(t, connectPage, language)
		if len(recipes) != cook.recipes {
			t.Errorf("the page has %d recipes in %s", len(recipes), language)
		}
		for i, recipe := range recipes {
			t.Run(fmt.Sprint(language, " ", i+1), func(t *testing.T) {
				file := filepath.Join(k.dir, cook.file)
				if err := os.WriteFile(file, []byte(k.said.Replace(recipe)), 0o600); err != nil {
					t.Fatal(err)
				}
				out, err := k.cook(t.Context(), cook.program[0], append(cook.program[1:], file)...)
				if err != nil || !strings.Contains(out, "Hello, Ann!") {
					t.Errorf("%s\n%v\n%s", recipe, err, out)
				}
			})
		}
	}
	t.Run("mcp-remote", func(t *testing.T) { k.remote(t) })
}

// remote starts what the entry of a client that knows stdio only says.
func (k *kitchen) remote(t *testing.T) {
	t.Helper()
	entries := blocksOf(t, connectPage, "json")
	if len(entries) != 1 {
		t.Fatalf("the page has %d entries", len(entries))
	}
	var config struct {
		Servers map[string]struct{ Args []string } `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(k.said.Replace(entries[0])), &config); err != nil {
		t.Fatal(err)
	}
	args := config.Servers["wharf"].Args
	at := slices.Index(args, "mcp-remote")
	if at < 0 {
		t.Fatalf("it starts %q", args)
	}
	cmd := exec.Command(filepath.Join(k.bin, "mcp-remote"), args[at+1:]...) // what npx would start
	stderr := &buffer{}
	cmd.Dir, cmd.Stderr = k.dir, stderr
	cmd.Env = append(os.Environ(), "PATH="+k.path(), "HOME="+k.dir)
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	defer func() { _ = s.Close() }()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "hello_greet", Arguments: map[string]any{"name": "Ann"}})
	if err != nil || r.IsError {
		t.Fatalf("%v, %+v\n%s", err, r, stderr)
	}
	if out, _ := json.Marshal(r.StructuredContent); string(out) != `{"result":"Hello, Ann!"}` {
		t.Errorf("%s", out)
	}
}

func TestTheCommandOfTheConnectPageShowsAnEntry(t *testing.T) {
	for _, command := range commandsOf(t, connectPage) {
		args := strings.Fields(strings.TrimPrefix(command, "toolwharf "))
		if i := slices.Index(args, "#"); i >= 0 {
			args = args[:i]
		}
		dir, _ := workspace(t, "")
		stdout, stderr, code := run(t, dir, args...)
		if code != 0 || !strings.Contains(stdout, "serve") || !strings.Contains(stdout, "--stdio") {
			t.Errorf("%s: exit %d\n%s%s", command, code, stdout, stderr)
		}
	}
}
