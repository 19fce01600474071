// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/toolwharf/toolwharf/host/internal/fault"
)

// manifestName is the file that makes a folder a plugin.
const manifestName = "plugin.yaml"

// Bounds of a plugin.yaml.
const (
	maxManifest = 64 << 10
	maxWords    = 256
	maxWord     = 4096
)

// manifest is a plugin.yaml.
type manifest struct {
	command []string
	lines   []int // of each word
}

func readManifest(root *os.Root) (*manifest, error) {
	f, err := root.Open(manifestName)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return nil, err
	}
	return parseManifest(data)
}

// fault is a fault of one word.
func (m *manifest) fault(word int, summary string) error {
	return manifestFault(m.lines[word], "command", summary)
}

func manifestFault(line int, path, summary string) error {
	return fault.List{{File: manifestName, Line: line, Path: path, Summary: summary}}
}

// parseManifest reads the one key that a plugin.yaml has:
//
//	command: [bin/server, --flag]
func parseManifest(data []byte) (*manifest, error) {
	if len(data) > maxManifest {
		return nil, manifestFault(0, "", fmt.Sprintf("is larger than %d KiB", maxManifest>>10))
	}
	var document, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	switch err := d.Decode(&document); {
	case errors.Is(err, io.EOF), err == nil && len(document.Content) == 0:
		return nil, manifestFault(0, "command", "is missing: say what is executed, as in command: [bin/server]")
	case err != nil:
		return nil, malformed(err)
	}
	switch err := d.Decode(&more); {
	case err == nil:
		return nil, manifestFault(more.Line, "", "holds more than one YAML document")
	case !errors.Is(err, io.EOF):
		return nil, malformed(err)
	}
	top := document.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, manifestFault(top.Line, "", "must be a mapping, as in command: [bin/server]")
	}
	m := &manifest{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode || key.Value != "command":
			return nil, manifestFault(key.Line, "", fmt.Sprintf("%.60q is not a known key: the only one is command", key.Value))
		case m.command != nil:
			return nil, manifestFault(key.Line, "command", "stands twice")
		}
		if err := m.words(value); err != nil {
			return nil, err
		}
	}
	if m.command == nil {
		return nil, manifestFault(top.Line, "command", "is missing: say what is executed, as in command: [bin/server]")
	}
	return m, nil
}

var yamlError = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)

// malformed is what the YAML parser says.
func malformed(err error) error {
	line, what := 0, err.Error()
	if m := yamlError.FindStringSubmatch(what); m != nil {
		line, _ = strconv.Atoi(m[1])
		what = m[2]
	}
	return manifestFault(line, "", "is not valid YAML: "+what)
}

func (m *manifest) words(list *yaml.Node) error {
	refuse := func(n *yaml.Node, summary string) error { return manifestFault(n.Line, "command", summary) }
	switch {
	case list.Kind != yaml.SequenceNode:
		return refuse(list, "must be a list of words, as in [bin/server, --flag]")
	case len(list.Content) == 0:
		return refuse(list, "has no word")
	case len(list.Content) > maxWords:
		return refuse(list, fmt.Sprintf("has more than %d words", maxWords))
	}
	for _, w := range list.Content {
		switch {
		case w.Kind != yaml.ScalarNode || w.Tag != "!!str":
			return refuse(w, fmt.Sprintf("%.60q is no text; put it into quotes", w.Value))
		case len(w.Value) > maxWord:
			return refuse(w, fmt.Sprintf("a word is longer than %d bytes", maxWord))
		case strings.ContainsRune(w.Value, 0):
			return refuse(w, "a word holds a zero byte")
		}
		m.command, m.lines = append(m.command, w.Value), append(m.lines, w.Line)
	}
	if m.command[0] == "" {
		return refuse(list, "the first word is empty")
	}
	return nil
}
