// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Place is the machine and the project that a client is set up on.
type Place struct {
	OS        string // as runtime.GOOS
	Home      string // the user's home directory
	ConfigDir string // %APPDATA% or $XDG_CONFIG_HOME; empty: the default below Home
	Project   string // directory whose clients are set up, for files of a project
	User      bool   // the user's own file where a client has one beside the project's
}

// config is the directory of applications' configurations.
func (p Place) config() string {
	if p.ConfigDir != "" && p.OS != "darwin" {
		return p.ConfigDir
	}
	switch p.OS {
	case "darwin":
		return filepath.Join(p.Home, "Library", "Application Support")
	case "windows":
		return filepath.Join(p.Home, "AppData", "Roaming")
	}
	return filepath.Join(p.Home, ".config")
}

// client is one program that can be connected.
type client struct {
	name    string
	title   string
	section string // the top-level key of its file
	path    func(Place) string
	stdio   func(Entry) object
	http    func(Entry) object // nil: its file has no form for URLs
	noHTTP  string             // what to do instead
	command func(Entry) string // the client's own command, to print
	note    string             // what to do after the file is written
}

// clients are all that Connect knows, in the order in which help lists them.
var clients = []client{
	{
		name: "claude", title: "Claude Desktop", section: "mcpServers",
		path:   func(p Place) string { return filepath.Join(p.config(), "Claude", "claude_desktop_config.json") },
		stdio:  plainStdio,
		noHTTP: "Claude Desktop takes URLs only under Settings, Connectors; its file takes only programs",
		note:   "Quit Claude Desktop and start it again.",
	},
	{
		name: "claude-code", title: "Claude Code", section: "mcpServers",
		path:    func(p Place) string { return filepath.Join(p.Project, ".mcp.json") },
		stdio:   typedStdio,
		http:    typedHTTP("http"),
		command: claudeCommand,
		note:    "Claude Code asks once whether it may use the servers of this project.",
	},
	{
		name: "cursor", title: "Cursor", section: "mcpServers",
		path: func(p Place) string {
			if p.User {
				return filepath.Join(p.Home, ".cursor", "mcp.json")
			}
			return filepath.Join(p.Project, ".cursor", "mcp.json")
		},
		stdio: plainStdio,
		http:  plainHTTP("url"),
		note:  "Switch the server on under Cursor Settings, MCP.",
	},
	{
		name: "vscode", title: "VS Code", section: "servers",
		path: func(p Place) string {
			if p.User {
				return filepath.Join(p.config(), "Code", "User", "mcp.json")
			}
			return filepath.Join(p.Project, ".vscode", "mcp.json")
		},
		stdio: typedStdio,
		http:  typedHTTP("http"),
		note:  "Start the server from the Command Palette: MCP: List Servers.",
	},
	{
		name: "windsurf", title: "Windsurf", section: "mcpServers",
		path:  func(p Place) string { return filepath.Join(p.Home, ".codeium", "windsurf", "mcp_config.json") },
		stdio: plainStdio,
		http:  plainHTTP("serverUrl"),
		note:  "Press refresh in Windsurf's MCP panel.",
	},
	{
		name: "zed", title: "Zed", section: "context_servers",
		path: func(p Place) string {
			switch p.OS {
			case "windows":
				return filepath.Join(p.config(), "Zed", "settings.json")
			case "darwin": // Zed keeps its files as on Linux there
				return filepath.Join(p.Home, ".config", "zed", "settings.json")
			}
			return filepath.Join(p.config(), "zed", "settings.json")
		},
		stdio: plainStdio,
		http:  plainHTTP("url"),
		note:  "Zed starts the server by itself.",
	},
	{
		name: "json", title: "any client that reads mcpServers", section: "mcpServers",
		stdio: plainStdio,
		http:  typedHTTP("http"),
	},
}

// Clients are the names that Connect knows.
func Clients() []string {
	names := make([]string, len(clients))
	for i, c := range clients {
		names[i] = c.name
	}
	return names
}

func find(name string) (client, error) {
	i := slices.IndexFunc(clients, func(c client) bool { return c.name == name })
	if i < 0 {
		return client{}, fmt.Errorf("unknown client %q: known are %s; `json` prints an entry for any other", name, strings.Join(Clients(), ", "))
	}
	return clients[i], nil
}

// Entry is how a client reaches the host: a program that it starts, or a URL.
type Entry struct {
	Name    string // what the client calls the server
	Command string // absolute path of the host's executable
	Args    []string
	Env     map[string]string
	URL     string
	Headers map[string]string // with URL
}

// Stdio is the Entry for a client that starts the host itself. Both paths must
// be absolute: a desktop client has a working directory of its own.
func Stdio(name, executable, config string) Entry {
	return Entry{Name: name, Command: executable, Args: []string{"serve", "--stdio", "-c", config}}
}

// HTTP is the Entry for a host that runs already.
func HTTP(name, url string) Entry { return Entry{Name: name, URL: url} }

func (e Entry) check() error {
	switch {
	case e.Name == "":
		return errors.New("an entry needs a name")
	case (e.Command == "") == (e.URL == ""):
		return errors.New("an entry needs either a command or a URL")
	case e.Command != "" && !absolute(e.Command):
		return fmt.Errorf("%s: the command must be an absolute path", e.Command)
	}
	return nil
}

// absolute accepts the paths of every system: the tests of one describe others.
func absolute(path string) bool {
	return filepath.IsAbs(path) || strings.HasPrefix(path, "/") || len(path) > 2 && path[1] == ':' || strings.HasPrefix(path, `\\`)
}

func plainStdio(e Entry) object {
	o := object{{"command", e.Command}, {"args", e.Args}}
	if len(e.Env) > 0 {
		o = append(o, member{"env", e.Env})
	}
	return o
}

func typedStdio(e Entry) object { return append(object{{"type", "stdio"}}, plainStdio(e)...) }

func plainHTTP(key string) func(Entry) object {
	return func(e Entry) object {
		o := object{{key, e.URL}}
		if len(e.Headers) > 0 {
			o = append(o, member{"headers", e.Headers})
		}
		return o
	}
}

func typedHTTP(typ string) func(Entry) object {
	return func(e Entry) object { return append(object{{"type", typ}}, plainHTTP("url")(e)...) }
}

// claudeCommand is the same as the entry in .mcp.json, said to Claude Code.
func claudeCommand(e Entry) string {
	words := []string{"claude", "mcp", "add", "--scope", "project"}
	if e.URL != "" {
		words = append(words, "--transport", "http", e.Name, e.URL)
		for _, name := range sortedKeys(e.Headers) {
			words = append(words, "--header", name+": "+e.Headers[name])
		}
		return shell(words)
	}
	words = append(words, "--transport", "stdio", e.Name)
	for _, name := range sortedKeys(e.Env) {
		words = append(words, "--env", name+"="+e.Env[name])
	}
	return shell(append(append(words, "--", e.Command), e.Args...))
}

// shell quotes words for a POSIX shell where they need it.
func shell(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		plain := func(r rune) bool {
			return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
		}
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !plain(r) }) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
