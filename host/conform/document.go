// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/toolwharf/toolwharf/host/internal/secret"
)

// maxFile bounds the files that are read, in bytes.
const maxFile = 1 << 20

// maxNodes bounds what aliases of YAML can make of a file.
const maxNodes = 100_000

// ReadConfig reads a configuration, YAML or JSON. ${NAME} and ${file:PATH} are
// replaced as in toolwharf.yaml; the values that stood behind them are secrets.
func ReadConfig(path string) (config json.RawMessage, secrets []string, err error) {
	text, err := readFile(path)
	if err != nil {
		return nil, nil, err
	}
	return parseConfig(text, path)
}

func parseConfig(text []byte, path string) (config json.RawMessage, secrets []string, err error) {
	tree, err := parseTree(text)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if tree == nil {
		tree = map[string]any{}
	}
	if _, ok := tree.(map[string]any); !ok {
		return nil, nil, fmt.Errorf("%s: a configuration is an object", path)
	}
	tree, missing, secrets, err := secret.ExpandTree(tree, secret.System{Dir: filepath.Dir(path)})
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(missing) > 0 {
		return nil, nil, fmt.Errorf("%s: %s: secret missing: %s", path, missing[0].Pointer, missing[0])
	}
	config, err = json.Marshal(tree)
	return config, secrets, err
}

// ReadExamples reads example calls, YAML or JSON.
func ReadExamples(path string) (Examples, error) {
	var e Examples
	return e, decodeFile(path, &e)
}

// decodeFile decodes YAML or JSON into v by v's JSON names, and nothing else.
func decodeFile(path string, v any) error {
	text, err := readFile(path)
	if err != nil {
		return err
	}
	tree, err := parseTree(text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	raw, err := json.Marshal(tree)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s: larger than %d bytes", path, maxFile)
	}
	return text, err
}

// parseTree parses YAML, and so JSON, into what encoding/json would make of it.
// Numbers keep their digits.
func parseTree(text []byte) (any, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	if doc.Kind == 0 {
		return nil, nil //nolint:nilnil // an empty document has no value
	}
	budget := maxNodes
	return tree(&doc, &budget)
}

func tree(n *yaml.Node, budget *int) (any, error) {
	if *budget--; *budget < 0 {
		return nil, errors.New("too large once its aliases are replaced")
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return tree(n.Content[0], budget)
	case yaml.AliasNode:
		return tree(n.Alias, budget)
	case yaml.SequenceNode:
		out := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			v, err := tree(item, budget)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case yaml.MappingNode:
		out := make(map[string]any, len(n.Content)/2)
		for pair := range slices.Chunk(n.Content, 2) {
			v, err := tree(pair[1], budget)
			if err != nil {
				return nil, err
			}
			out[pair[0].Value] = v
		}
		return out, nil
	default:
		return scalar(n)
	}
}

func scalar(n *yaml.Node) (any, error) {
	switch n.Tag {
	case "!!int", "!!float":
		if json.Valid([]byte(n.Value)) {
			return json.Number(n.Value), nil
		}
	case "!!null":
		return nil, nil //nolint:nilnil // null is a value
	case "!!bool":
	default:
		return n.Value, nil
	}
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := json.Marshal(v); err != nil { // .nan
		return nil, fmt.Errorf("line %d: %s is no JSON", n.Line, n.Value)
	}
	return v, nil
}
