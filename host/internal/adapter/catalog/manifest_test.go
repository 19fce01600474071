// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/fault"
)

func TestAManifestHasACommandAndNothingElse(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
		says string // of the fault
	}{
		"in one line":         {"command: [bin/server, -v]", []string{"bin/server", "-v"}, ""},
		"in lines":            {"command:\n- bin/server\n- \"8000\"\n", []string{"bin/server", "8000"}, ""},
		"words as they stand": {`command: [a, "$HOME", '*', "b c"]`, []string{"a", "$HOME", "*", "b c"}, ""},
		"nothing":             {"", nil, "plugin.yaml: command: is missing"},
		"only a comment":      {"# x\n", nil, "plugin.yaml: command: is missing"},
		"null":                {"~", nil, "plugin.yaml:1: must be a mapping"},
		"no mapping":          {"- a", nil, "plugin.yaml:1: must be a mapping"},
		"an empty mapping":    {"{}", nil, "plugin.yaml:1: command: is missing"},
		"no list":             {"command: bin/server", nil, "plugin.yaml:1: command: must be a list of words"},
		"an empty list":       {"command: []", nil, "plugin.yaml:1: command: has no word"},
		"an empty word":       {"command: ['']", nil, "plugin.yaml:1: command: the first word is empty"},
		"a number":            {"command:\n  - a\n  - 8000", nil, `plugin.yaml:3: command: "8000" is no text; put it into quotes`},
		"a list in it":        {"command: [[a]]", nil, "plugin.yaml:1: command: \"\" is no text"},
		"another key":         {"\ncommand: [a]\nenv: {A: b}", nil, `plugin.yaml:3: "env" is not a known key: the only one is command`},
		"twice":               {"command: [a]\ncommand: [b]", nil, "plugin.yaml:2: command: stands twice"},
		"an alias":            {"command: &a [x]\ncommand: *a", nil, "plugin.yaml:2: command: stands twice"},
		"an alias of a word":  {"command: [&a x, *a]", nil, `plugin.yaml:1: command: "a" is no text`},
		"a merge":             {"<<: {command: [a]}", nil, `plugin.yaml:1: "<<" is not a known key`},
		"two documents":       {"command: [a]\n---\ncommand: [b]", nil, "plugin.yaml:2: holds more than one YAML document"},
		"no YAML":             {"command: [a\nb: c", nil, "plugin.yaml:1: is not valid YAML"},
		"a zero byte":         {`command: ["a\0"]`, nil, "plugin.yaml:1: command: a word holds a zero byte"},
		"a long word":         {"command: [" + strings.Repeat("a", 4097) + "]", nil, "longer than 4096 bytes"},
		"many words":          {"command: [" + strings.Repeat("a,", 257) + "]", nil, "more than 256 words"},
		"a long file":         {strings.Repeat("#", 64<<10+1), nil, "is larger than 64 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := parseManifest([]byte(tc.text))
			if tc.says != "" {
				if err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Fatalf("%v, want %q", err, tc.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, m.command); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzManifest(f *testing.F) {
	for _, seed := range []string{
		"", "command: [a, b]", "command:\n- a\n", "command: &a [*a]", "---\n---", "{command: [\"\\0\"]}", "? [a]\n: b", "command: !!binary [x]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := parseManifest(data)
		if err != nil {
			if _, ok := errors.AsType[fault.List](err); !ok {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		if len(m.command) == 0 || len(m.command) > maxWords || len(m.command) != len(m.lines) || m.command[0] == "" {
			t.Errorf("%q", m.command)
		}
		for _, w := range m.command {
			if len(w) > maxWord || strings.ContainsRune(w, 0) {
				t.Errorf("word %q", w)
			}
		}
	})
}
