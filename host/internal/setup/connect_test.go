// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/setup"
)

var entry = setup.Stdio("toolwharf", "/opt/toolwharf/bin/toolwharf", "/home/u/my files/toolwharf.yaml")

func TestEveryClientHasItsFileAndForm(t *testing.T) {
	const (
		plain = `{"command":"/opt/toolwharf/bin/toolwharf","args":["serve","--stdio","-c","/home/u/my files/toolwharf.yaml"]}`
		typed = `{"type":"stdio","command":"/opt/toolwharf/bin/toolwharf","args":["serve","--stdio","-c","/home/u/my files/toolwharf.yaml"]}`
	)
	for name, c := range map[string]struct {
		client, path, section, stdio, http string
		at                                 setup.Place // Home and Project are set by the test
	}{
		"Claude Desktop on macOS":    {"claude", "home/Library/Application Support/Claude/claude_desktop_config.json", "mcpServers", plain, "", setup.Place{OS: "darwin"}},
		"Claude Desktop on Windows":  {"claude", "home/AppData/Roaming/Claude/claude_desktop_config.json", "mcpServers", plain, "", setup.Place{OS: "windows"}},
		"Claude Desktop on Linux":    {"claude", "home/.config/Claude/claude_desktop_config.json", "mcpServers", plain, "", setup.Place{OS: "linux"}},
		"Claude Desktop under XDG":   {"claude", "xdg/Claude/claude_desktop_config.json", "mcpServers", plain, "", setup.Place{OS: "linux", ConfigDir: "xdg"}},
		"macOS knows no XDG":         {"claude", "home/Library/Application Support/Claude/claude_desktop_config.json", "mcpServers", plain, "", setup.Place{OS: "darwin", ConfigDir: "xdg"}},
		"Claude Code":                {"claude-code", "project/.mcp.json", "mcpServers", typed, `{"type":"http","url":"http://127.0.0.1:8000/mcp"}`, setup.Place{OS: "linux"}},
		"Cursor in a project":        {"cursor", "project/.cursor/mcp.json", "mcpServers", plain, `{"url":"http://127.0.0.1:8000/mcp"}`, setup.Place{OS: "linux"}},
		"Cursor for a user":          {"cursor", "home/.cursor/mcp.json", "mcpServers", plain, `{"url":"http://127.0.0.1:8000/mcp"}`, setup.Place{OS: "linux", User: true}},
		"VS Code in a project":       {"vscode", "project/.vscode/mcp.json", "servers", typed, `{"type":"http","url":"http://127.0.0.1:8000/mcp"}`, setup.Place{OS: "darwin"}},
		"VS Code for a user":         {"vscode", "home/Library/Application Support/Code/User/mcp.json", "servers", typed, `{"type":"http","url":"http://127.0.0.1:8000/mcp"}`, setup.Place{OS: "darwin", User: true}},
		"Windsurf":                   {"windsurf", "home/.codeium/windsurf/mcp_config.json", "mcpServers", plain, `{"serverUrl":"http://127.0.0.1:8000/mcp"}`, setup.Place{OS: "linux"}},
		"Zed":                        {"zed", "home/.config/zed/settings.json", "context_servers", plain, `{"url":"http://127.0.0.1:8000/mcp"}`, setup.Place{OS: "linux"}},
		"any other client is a text": {"json", "", "mcpServers", plain, `{"type":"http","url":"http://127.0.0.1:8000/mcp"}`, setup.Place{OS: "linux"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			at := c.at
			at.Home, at.Project = filepath.Join(root, "home"), filepath.Join(root, "project")
			if at.ConfigDir != "" {
				at.ConfigDir = filepath.Join(root, at.ConfigDir)
			}
			for form, want := range map[string]string{"stdio": c.stdio, "http": c.http} {
				e := entry
				if form == "http" {
					e = setup.HTTP("toolwharf", "http://127.0.0.1:8000/mcp")
				}
				p, err := setup.Connect(c.client, e, at)
				if want == "" {
					if err == nil {
						t.Errorf("%s: accepted", form)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%s: %v", form, err)
				}
				path := ""
				if c.path != "" {
					path = filepath.Join(root, c.path)
				}
				if p.Path != path {
					t.Errorf("%s: the file is %s, want %s", form, p.Path, path)
				}
				if got := squeeze(t, p.Snippet); got != `{"`+c.section+`":{"toolwharf":`+want+`}}` {
					t.Errorf("%s: the entry is %s", form, got)
				}
				if path != "" && string(p.After) != p.Snippet+"\n" {
					t.Errorf("%s: a new file is %s", form, p.After)
				}
			}
		})
	}
}

func squeeze(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(s)); err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	return b.String()
}

func TestConnectEditsOnlyItsEntry(t *testing.T) {
	e := setup.Entry{Name: "wharf", Command: "/bin/w", Args: []string{"serve", "--stdio"}}
	for name, c := range map[string]struct{ before, after string }{
		"an empty file": {
			"  \n",
			"{\n  \"mcpServers\": {\n    \"wharf\": {\n      \"command\": \"/bin/w\",\n      \"args\": [\"serve\", \"--stdio\"]\n    }\n  }\n}\n",
		},
		"an empty object": {
			"{}",
			"{\n  \"mcpServers\": {\n    \"wharf\": {\n      \"command\": \"/bin/w\",\n      \"args\": [\"serve\", \"--stdio\"]\n    }\n  }\n}",
		},
		"other settings, their order, digits and odd layout stay": {
			"{\n    \"z\" : 1.50 ,\n    \"a\": [1,\n 2],\n    \"big\": 9007199254740993\n}\n",
			"{\n    \"z\" : 1.50 ,\n    \"a\": [1,\n 2],\n    \"big\": 9007199254740993,\n    \"mcpServers\": {\n        \"wharf\": {\n            \"command\": \"/bin/w\",\n            \"args\": [\"serve\", \"--stdio\"]\n        }\n    }\n}\n",
		},
		"other servers stay": {
			"{\n\t\"mcpServers\": {\n\t\t\"b\": {\"command\": \"b\"}\n\t},\n\t\"x\": null\n}",
			"{\n\t\"mcpServers\": {\n\t\t\"b\": {\"command\": \"b\"},\n\t\t\"wharf\": {\n\t\t\t\"command\": \"/bin/w\",\n\t\t\t\"args\": [\"serve\", \"--stdio\"]\n\t\t}\n\t},\n\t\"x\": null\n}",
		},
		"a file on one line": {
			`{"x":1,"mcpServers":{"b":{}}}`,
			"{\"x\":1,\"mcpServers\":{\"b\":{},\n    \"wharf\": {\n      \"command\": \"/bin/w\",\n      \"args\": [\"serve\", \"--stdio\"]\n    }\n  }}",
		},
		"an empty section": {
			"{\n  \"mcpServers\": { }\n}",
			"{\n  \"mcpServers\": {\n    \"wharf\": {\n      \"command\": \"/bin/w\",\n      \"args\": [\"serve\", \"--stdio\"]\n    }\n  }\n}",
		},
		"Windows line ends": {
			"{\r\n  \"x\": 1\r\n}\r\n",
			"{\r\n  \"x\": 1,\r\n  \"mcpServers\": {\r\n    \"wharf\": {\r\n      \"command\": \"/bin/w\",\r\n      \"args\": [\"serve\", \"--stdio\"]\r\n    }\r\n  }\r\n}\r\n",
		},
		"a byte order mark": {
			"\ufeff{\"mcpServers\":{\n}}",
			"\ufeff{\"mcpServers\":{\n    \"wharf\": {\n      \"command\": \"/bin/w\",\n      \"args\": [\"serve\", \"--stdio\"]\n    }\n  }}",
		},
		"an older entry is replaced, what the user added to it stays": {
			"{\n  \"mcpServers\": {\n    \"a\": 1,\n    \"wharf\": {\"url\": \"http://old\", \"disabled\": true, \"env\": { \"A\":\"b\" }, \"command\": \"/old\"},\n    \"z\": 2\n  }\n}",
			"{\n  \"mcpServers\": {\n    \"a\": 1,\n    \"wharf\": {\n      \"command\": \"/bin/w\",\n      \"args\": [\"serve\", \"--stdio\"],\n      \"disabled\": true,\n      \"env\": { \"A\":\"b\" }\n    },\n    \"z\": 2\n  }\n}",
		},
		"an entry that is right already is left alone": {
			`{"mcpServers":{"wharf":{"args":["serve","--stdio"],"command":"\/bin\/w"}}}`,
			`{"mcpServers":{"wharf":{"args":["serve","--stdio"],"command":"\/bin\/w"}}}`,
		},
		"an entry of another type is replaced": {
			`{"mcpServers":{"wharf":"x"}}`,
			"{\"mcpServers\":{\"wharf\":{\n      \"command\": \"/bin/w\",\n      \"args\": [\"serve\", \"--stdio\"]\n    }}}",
		},
		"slashes in text are no comments": {
			`{"x":"http://h /* \" // */"}`,
			"{\"x\":\"http://h /* \\\" // */\",\n  \"mcpServers\": {\n    \"wharf\": {\n      \"command\": \"/bin/w\",\n      \"args\": [\"serve\", \"--stdio\"]\n    }\n  }\n}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			path := write(t, filepath.Join(home, ".cursor/mcp.json"), c.before)
			if err := os.Chmod(path, 0o640); err != nil {
				t.Fatal(err)
			}
			p, err := setup.Connect("cursor", e, setup.Place{OS: "linux", Home: home, User: true})
			if err != nil {
				t.Fatal(err)
			}
			if p.Changed() != (c.before != c.after) {
				t.Errorf("Changed is %v", p.Changed())
			}
			if err := p.Apply(); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.after, string(got)); diff != "" {
				t.Error(diff)
			}
			if info, _ := os.Stat(path); info.Mode().Perm() != 0o640 {
				t.Errorf("the mode became %v", info.Mode())
			}
			backup, err := os.ReadFile(path + ".bak")
			if p.Changed() && (err != nil || string(backup) != c.before) {
				t.Errorf("the backup is %q, %v", backup, err)
			}
			again, err := setup.Connect("cursor", e, setup.Place{OS: "linux", Home: home, User: true})
			if err != nil || again.Changed() {
				t.Errorf("a second time changes something: %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(home, ".cursor/.*")); len(left) > 0 {
				t.Errorf("temporary files are left: %v", left)
			}
		})
	}
}

func TestAFileThatCannotBeEditedWithoutLossIsLeftAlone(t *testing.T) {
	for name, c := range map[string]struct{ before, want string }{
		"a comment":                   {"{\n  // mine\n  \"servers\": {}\n}", ":2: has comments"},
		"a block comment":             {"{\n\n/* mine */}", ":3: has comments"},
		"a comma too many":            {"{\n  \"servers\": {},\n}", ":3: is not valid JSON: invalid character '}' looking for beginning of object key string (after a comma)"},
		"a file that is cut off":      {"{\n  \"servers\": {", ":2: is not valid JSON: unexpected end of JSON input"},
		"a list":                      {"[]", ":1: is not a JSON object"},
		"a section that is a list":    {"{\n  \"x\": 1,\n  \"servers\": []\n}", `:3: "servers" is not an object`},
		"a section that stands twice": {"{\n  \"servers\": {},\n  \"servers\": {}\n}", `:3: the key "servers" stands twice`},
		"two values":                  {"{}\n{}", ":2: is not valid JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			project := t.TempDir()
			path := write(t, filepath.Join(project, ".vscode/mcp.json"), c.before)
			p, err := setup.Connect("vscode", entry, setup.Place{OS: "linux", Project: project})
			if !errors.Is(err, setup.ErrNotRewritten) || !strings.Contains(err.Error(), path+c.want) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
			if p == nil || !strings.Contains(p.Snippet, `"servers"`) || p.Changed() {
				t.Fatalf("there is nothing to paste: %+v", p)
			}
			if err := p.Apply(); err != nil {
				t.Error(err)
			}
			if got, _ := os.ReadFile(path); string(got) != c.before {
				t.Errorf("the file became %q", got)
			}
		})
	}
}

func TestApplyCreatesDirectoriesAndFollowsLinks(t *testing.T) {
	root := t.TempDir()
	at := setup.Place{OS: "linux", Home: filepath.Join(root, "home"), Project: filepath.Join(root, "project")}
	p, err := setup.Connect("windsurf", entry, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.Path + ".bak"); err == nil {
		t.Error("a new file has a backup")
	}

	dotfile := write(t, filepath.Join(root, "dotfiles/mcp.json"), "{}")
	link := filepath.Join(at.Project, ".mcp.json")
	if err := os.MkdirAll(at.Project, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dotfile, link); err != nil {
		t.Fatal(err)
	}
	p, err = setup.Connect("claude-code", entry, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Lstat(link); info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced by a file")
	}
	if got, _ := os.ReadFile(dotfile); !strings.Contains(string(got), "toolwharf") {
		t.Errorf("the file behind the link is %s", got)
	}
	if err := os.Remove(dotfile); err != nil {
		t.Fatal(err)
	}
	if _, err := setup.Connect("claude-code", entry, at); err == nil {
		t.Error("a link that leads nowhere is followed")
	}
}

func TestApplyRefusesAFileThatHasChangedMeanwhile(t *testing.T) {
	project := t.TempDir()
	path := write(t, filepath.Join(project, ".mcp.json"), "{}")
	p, err := setup.Connect("claude-code", entry, setup.Place{Project: project})
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, `{"new": 1}`)
	if err := p.Apply(); err == nil || !strings.Contains(err.Error(), "has changed meanwhile") {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != `{"new": 1}` {
		t.Errorf("the file became %s", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := p.Apply(); err == nil {
		t.Error("a removed file was written again")
	}
}

func TestClaudeCodesCommandIsQuotedForAShell(t *testing.T) {
	project := t.TempDir()
	for name, c := range map[string]struct {
		entry setup.Entry
		want  string
	}{
		"a program": {
			setup.Stdio("toolwharf", "/opt/it's here/toolwharf", "/etc/toolwharf.yaml"),
			`claude mcp add --scope project --transport stdio toolwharf -- '/opt/it'\''s here/toolwharf' serve --stdio -c /etc/toolwharf.yaml`,
		},
		"a URL with a header": {
			setup.Entry{Name: "w", URL: "http://h/mcp", Headers: map[string]string{"Authorization": "Bearer ${T}"}},
			`claude mcp add --scope project --transport http w http://h/mcp --header 'Authorization: Bearer ${T}'`,
		},
		"an environment": {
			setup.Entry{Name: "w", Command: "/w", Env: map[string]string{"B": "2", "A": "$x"}},
			`claude mcp add --scope project --transport stdio w --env 'A=$x' --env B=2 -- /w`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := setup.Connect("claude-code", c.entry, setup.Place{Project: project})
			if err != nil {
				t.Fatal(err)
			}
			if p.Command != c.want {
				t.Errorf("got  %s\nwant %s", p.Command, c.want)
			}
		})
	}
}

func TestConnectRefusesEntriesThatCannotWork(t *testing.T) {
	at := setup.Place{OS: "linux", Home: t.TempDir(), Project: t.TempDir()}
	for name, c := range map[string]struct {
		client string
		entry  setup.Entry
		want   string
	}{
		"an unknown client":              {"emacs", entry, "known are claude, claude-code, cursor, vscode, windsurf, zed, json"},
		"a relative command":             {"cursor", setup.Stdio("w", "bin/toolwharf", "/c"), "must be an absolute path"},
		"neither a command nor a URL":    {"cursor", setup.Entry{Name: "w"}, "either a command or a URL"},
		"both a command and a URL":       {"cursor", setup.Entry{Name: "w", Command: "/w", URL: "http://h"}, "either a command or a URL"},
		"no name":                        {"cursor", setup.Entry{Command: "/w"}, "needs a name"},
		"a URL for Claude Desktop":       {"claude", setup.HTTP("w", "http://h"), "Settings, Connectors"},
		"a client's file without a home": {"windsurf", entry, "not an absolute path"},
	} {
		t.Run(name, func(t *testing.T) {
			place := at
			if strings.Contains(name, "without a home") {
				place.Home = ""
			}
			if _, err := setup.Connect(c.client, c.entry, place); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// FuzzConnect: whatever a client's file holds, the edit keeps everything but
// the entry, or refuses.
func FuzzConnect(f *testing.F) {
	for _, s := range []string{
		"", "{}", `{"mcpServers":{}}`, `{"mcpServers":{"w":{"env":{"A":"b"},"url":"x"},"b":[1,2]},"x":1e3}`, "[]", "{\"a\":1,}", "\ufeff{}",
		"{\r\n \"mcpServers\" : { \"b\" : null } }", `{"mcpServers":[]}`, `{"\u006dcpServers":{"b":1}}`, `{"mcpServers":{},"mcpServers":{}}`,
	} {
		f.Add([]byte(s))
	}
	project := f.TempDir()
	path := filepath.Join(project, ".mcp.json")
	f.Fuzz(func(t *testing.T, before []byte) {
		if err := os.WriteFile(path, before, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := setup.Connect("claude-code", setup.Stdio("w", "/w", "/c"), setup.Place{Project: project})
		if err != nil {
			return
		}
		was, is := map[string]json.RawMessage{}, map[string]json.RawMessage{}
		trimmed := bytes.TrimPrefix(before, []byte("\ufeff"))
		if len(bytes.TrimSpace(trimmed)) > 0 {
			if err := json.Unmarshal(trimmed, &was); err != nil {
				t.Fatalf("no JSON was edited: %v", err)
			}
		}
		if err := json.Unmarshal(bytes.TrimPrefix(p.After, []byte("\ufeff")), &is); err != nil {
			t.Fatalf("%q became %q: %v", before, p.After, err)
		}
		wasServers, isServers := map[string]json.RawMessage{}, map[string]json.RawMessage{}
		_ = json.Unmarshal(was["mcpServers"], &wasServers)
		if err := json.Unmarshal(is["mcpServers"], &isServers); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(isServers["w"]), "--stdio") {
			t.Fatalf("no entry in %q", p.After)
		}
		delete(was, "mcpServers")
		delete(is, "mcpServers")
		delete(wasServers, "w")
		delete(isServers, "w")
		if diff := cmp.Diff(was, is); diff != "" {
			t.Fatalf("settings changed: %s", diff)
		}
		if diff := cmp.Diff(wasServers, isServers); diff != "" {
			t.Fatalf("servers changed: %s", diff)
		}
	})
}
