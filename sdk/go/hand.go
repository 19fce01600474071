// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// hand is a plugin that a person started.
type hand struct {
	core     *core
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
}

const handUsage = `usage:
  %[1]s                       say what this is
  %[1]s describe              print what a host would learn of it, as JSON
  %[1]s call TOOL [JSON]      run one tool; JSON are its arguments, @FILE or - for stdin
  %[1]s read URI              read one resource
  %[1]s prompt NAME [JSON]    make one prompt; JSON is an object of texts
  %[1]s serve-standalone PATH serve the plugin protocol on a unix socket of that path, to whoever may open it
  %[1]s --version
flags of all but --version:
  --config JSON|@FILE|-       the configuration; ${NAME} in its texts is taken from the environment
flags of call, read and prompt, to answer what was asked:
  --answers JSON|@FILE|-      an object with an answer for each key
  --state BASE64              the state that was printed with the questions
`

// run does what the arguments ask and returns the exit code: 0, 1 when what was
// asked failed, 2 for usage.
func (h *hand) run(args []string) int {
	words, flags, err := split(args)
	switch {
	case err != nil:
		return h.misused(err.Error())
	case flags.help:
		h.usage(h.out)
		return 0
	case flags.version:
		fmt.Fprintln(h.out, h.core.info.Name, h.core.info.Version)
		return 0
	case len(words) == 0:
		h.introduce()
		return 1
	case flags.round() && words[0] != "call" && words[0] != "read" && words[0] != "prompt":
		return h.misused("--answers and --state are for call, read and prompt")
	}
	switch n := len(words); {
	case words[0] == "describe" && n == 1:
		return h.describe(flags.config)
	case words[0] == "call" && (n == 2 || n == 3):
		return h.call(words[1], append(words, "{}")[2], flags)
	case words[0] == "read" && n == 2:
		return h.readResource(words[1], flags)
	case words[0] == "prompt" && (n == 2 || n == 3):
		return h.prompt(words[1], append(words, "{}")[2], flags)
	case words[0] == "serve-standalone" && n == 2:
		return h.serve(words[1], flags.config)
	case words[0] == "help":
		h.usage(h.out)
		return 0
	}
	return h.misused("unknown command: " + strings.Join(words, " "))
}

type handFlags struct {
	help, version          bool
	config, answers, state *string
}

// round: this is not the first round of a call.
func (f *handFlags) round() bool { return f.answers != nil || f.state != nil }

// split tells flags from words; flags may stand anywhere.
func split(args []string) (words []string, f handFlags, err error) {
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		switch name {
		case "-h", "-help", "--help":
			f.help = true
		case "-version", "--version":
			f.version = true
		case "-config", "--config", "-answers", "--answers", "-state", "--state":
			name = strings.TrimLeft(name, "-")
			if !joined {
				if i++; i == len(args) {
					return nil, f, fmt.Errorf("--%s needs a value", name)
				}
				value = args[i]
			}
			switch name {
			case "config":
				f.config = &value
			case "answers":
				f.answers = &value
			default:
				f.state = &value
			}
		default:
			if strings.HasPrefix(name, "--") {
				return nil, f, fmt.Errorf("unknown flag %s", name)
			}
			words = append(words, args[i])
		}
	}
	return words, f, nil
}

func (h *hand) misused(why string) int {
	fmt.Fprintf(h.err, "%s: %s\n", h.core.info.Name, why)
	h.usage(h.err)
	return 2
}

func (h *hand) usage(w io.Writer) { fmt.Fprintf(w, handUsage, h.core.info.Name) }

// introduce is for somebody who started the plugin to see what happens.
func (h *hand) introduce() {
	c := h.core
	fmt.Fprintf(h.err, "%s %s is a Toolwharf plugin: a host starts it and offers its tools to agents.\n",
		orElse(c.info.Title, c.info.Name), c.info.Version)
	if c.info.Description != "" {
		fmt.Fprintf(h.err, "%s\n", c.info.Description)
	}
	h.offers("tools", entries(c.base.tools, func(t *tool) (string, string) { return t.decl.GetName(), t.decl.GetDescription() }))
	h.offers("resources", append(
		entries(c.base.resources, func(r *resource) (string, string) { return r.fixed.GetUri(), r.fixed.GetDescription() }),
		entries(c.base.templates, func(r *resource) (string, string) { return r.family.GetUriTemplate(), r.family.GetDescription() })...))
	h.offers("prompts", entries(c.base.prompts, func(p *prompt) (string, string) { return p.decl.GetName(), p.decl.GetDescription() }))
	if c.has(FeatureHooks) {
		fmt.Fprintf(h.err, "\nIt judges calls of other adapters' tools, where hooks: in toolwharf.yaml says so.\n")
	}
	fmt.Fprintf(h.err, "\nTo use it, put it into a directory that is listed under plugins.dirs in toolwharf.yaml")
	if c.needsConfig() {
		fmt.Fprintf(h.err, "\nand add an adapter:\n\n  adapters:\n    %[1]s:\n      plugin: %[1]s\n      config: {...}   # see %[1]s describe\n", c.info.Name)
	} else {
		fmt.Fprintf(h.err, ";\nit needs no configuration.\n")
	}
	fmt.Fprintf(h.err, "\n")
	h.usage(h.err)
}

// entries are lines of a list: a name and the first line of its description.
func entries[T any](list []*T, of func(*T) (name, description string)) []string {
	lines := make([]string, 0, len(list))
	for _, x := range list {
		name, description := of(x)
		first, _, _ := strings.Cut(description, "\n")
		lines = append(lines, fmt.Sprintf("  %-20s  %s\n", name, first))
	}
	return lines
}

// offers prints a list, unless it is empty.
func (h *hand) offers(what string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(h.err, "\n%s:\n%s", what, strings.Join(lines, ""))
	}
}

// needsConfig: the empty configuration is not enough.
func (c *core) needsConfig() bool { return c.validateConfig(nil) != nil }

// configFor reads the --config flag; without it the configuration is empty.
func (h *hand) configFor(flag *string) ([]byte, error) {
	if flag == nil {
		return []byte("{}"), nil
	}
	data, err := h.read(*flag)
	if err != nil {
		return nil, err
	}
	data, err = expand(data, h.getenv)
	if err == nil {
		err = h.core.validateConfig(data)
	}
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	return data, nil
}

// read returns the JSON that an argument gives: itself, @FILE or - for stdin.
func (h *hand) read(arg string) ([]byte, error) {
	var data []byte
	var err error
	switch {
	case arg == "-":
		data, err = io.ReadAll(h.in)
	case strings.HasPrefix(arg, "@"):
		data, err = os.ReadFile(arg[1:])
	default:
		data = []byte(arg)
	}
	if err != nil {
		return nil, err
	}
	if !json.Valid(data) {
		return nil, fmt.Errorf("not JSON: %s", arg)
	}
	return data, nil
}

func (h *hand) failed(err error) int {
	fmt.Fprintf(h.err, "%s: %v\n", h.core.info.Name, err)
	return 1
}
