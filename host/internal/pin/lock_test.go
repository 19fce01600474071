// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/fault"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

func digest(s string) tool.Digest { return tool.DigestOf([]byte(s)) }

func example() *Lock {
	return &Lock{
		Plugins: map[string]Program{
			"sql":     {Hash: digest("sql")},
			"weather": {Folder: true, Hash: digest("weather")},
		},
		Adapters: map[string]Tools{
			"orders": {
				"query":  {Effects: tool.ReadOnly, Idempotent: true, Confirm: ConfirmFalse, Spec: digest("query")},
				"delete": {Effects: tool.Destructive, Confirm: ConfirmTrue, Spec: digest("delete")},
				"-v1.0":  {Spec: digest("v1")},
				"null":   {Effects: tool.Additive, Spec: digest("null")},
			},
			"an import @x/y": {},
		},
	}
}

const exampleText = header + `version: 1
plugins:
  sql: {kind: executable, hash: HASH(sql)}
  weather: {kind: folder, hash: HASH(weather)}
adapters:
  "an import @x/y": {}
  orders:
    "-v1.0": {effects: unset, idempotent: false, confirm: unset, spec: HASH(v1)}
    delete: {effects: destructive, idempotent: false, confirm: true, spec: HASH(delete)}
    null: {effects: additive, idempotent: false, confirm: unset, spec: HASH(null)}
    query: {effects: read_only, idempotent: true, confirm: false, spec: HASH(query)}
`

func hashed(text string) string {
	for _, name := range []string{"sql", "weather", "v1", "delete", "null", "query"} {
		text = strings.ReplaceAll(text, "HASH("+name+")", digest(name).String())
	}
	return text
}

func TestALockIsTextThatPeopleCanReview(t *testing.T) {
	if diff := cmp.Diff(hashed(exampleText), string(example().Text())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err := Parse("toolwharf.lock", example().Text())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(example(), got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	empty, err := Parse("toolwharf.lock", NewLock().Text())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(NewLock(), empty); diff != "" {
		t.Errorf("read empty (-want +got):\n%s", diff)
	}
}

func TestALockIsReadStrictlyAndEachFaultHasItsLine(t *testing.T) {
	whole := hashed(exampleText)
	replace := func(old, now string) string {
		text := strings.Replace(whole, old, now, 1)
		if text == whole {
			t.Fatalf("%q is not there", old)
		}
		return text
	}
	for name, tc := range map[string]struct{ text, says string }{
		"nothing":                 {"", "f: is empty"},
		"only a comment":          {"# x", "f: is empty"},
		"no YAML":                 {"version: [", "f:1: is not valid YAML"},
		"two documents":           {whole + "---\n", "holds more than one YAML document"},
		"a list":                  {"- 1", "f:1: must be a mapping"},
		"another version":         {replace("version: 1", "version: 2"), "f:3: version: must be 1"},
		"no version":              {replace("version: 1\n", ""), "version is missing"},
		"no plugins":              {"version: 1\nadapters: {}", "f:1: plugins is missing"},
		"another key":             {replace("adapters:", "adopters:"), `f:7: "adopters" is not a known key`},
		"an alias":                {"version: &a 1\nplugins: *a\nadapters: {}", "f:2: plugins: must be a mapping"},
		"a merge":                 {"<<: {version: 1}\nplugins: {}\nadapters: {}", `f:1: "<<" is not a known key`},
		"a plugin twice":          {replace("  weather:", "  sql:"), `f:6: plugins: "sql" stands twice, first in line 5`},
		"a tool twice":            {replace("    null:", "    delete:"), `"delete" stands twice, first in line 11`},
		"another kind":            {replace("kind: folder", "kind: image"), "f:6: plugins.weather.kind: must be one of executable, folder"},
		"a short hash":            {replace("kind: folder, hash: sha256:", "kind: folder, hash: sha256:0"), "f:6: plugins.weather.hash: must be sha256:"},
		"another hash":            {replace("folder, hash: sha256:", "folder, hash: md5:"), "f:6: plugins.weather.hash: must be sha256:"},
		"no hash":                 {replace("kind: folder, hash: "+digest("weather").String(), "kind: folder"), "f:6: plugins.weather: hash is missing"},
		"a hash that is a list":   {replace("folder, hash: "+digest("weather").String(), "folder, hash: []"), "f:6: plugins.weather.hash: must be sha256:"},
		"other effects":           {replace("effects: read_only", "effects: none"), "f:13: adapters.orders.query.effects: must be one of unset, read_only, additive, destructive"},
		"no effects":              {replace("effects: read_only, ", ""), "f:13: adapters.orders.query: effects is missing"},
		"another idempotent":      {replace("idempotent: true", "idempotent: yes"), "f:13: adapters.orders.query.idempotent: must be one of true, false"},
		"another confirm":         {replace("confirm: true", "confirm: ~"), "f:11: adapters.orders.delete.confirm: must be one of unset, true, false"},
		"a name that is none":     {replace("  sql:", "  \"sq\\nl\":"), "f:5: plugins: \"sq\\nl\" is no name"},
		"a key that is a mapping": {replace("  sql:", "  ? {a: b}\n  :"), "f:5: plugins: a key must be text"},
		"a tool that is text":     {replace("query: {effects: read_only, idempotent: true, confirm: false, spec: "+digest("query").String()+"}", "query: x"), "f:13: adapters.orders.query: must be a mapping"},
		"a long file":             {strings.Repeat("#", maxFile+1), "f: is larger than 16 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := Parse("f", []byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.says) || l != nil {
				t.Errorf("%v, want %q", err, tc.says)
			}
		})
	}
}

func TestALockIsReplacedAsAWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	for range 2 {
		if err := Write(path, example(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, example().Text()) {
		t.Errorf("%v, %s", err, got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("there are %v", entries)
	}
	if err := Write(filepath.Join(path, "x"), example(), 0o644); err == nil {
		t.Error("it was written below a file")
	}
}

func FuzzLock(f *testing.F) {
	f.Add([]byte(hashed(exampleText)))
	f.Add(NewLock().Text())
	f.Add([]byte("version: 1\nplugins: {a: {}}\nadapters: {b: {c: {effects: [], idempotent: *x}}}"))
	f.Add([]byte("? {}\n: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Parse("f", data)
		if err != nil {
			if faults, ok := errors.AsType[fault.List](err); !ok || len(faults) > maxFaults {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		again, err := Parse("f", l.Text())
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, l.Text())
		}
		if diff := cmp.Diff(l, again); diff != "" {
			t.Errorf("(-first +again):\n%s", diff)
		}
		if !bytes.Equal(l.Text(), again.Text()) {
			t.Errorf("%s\n%s", l.Text(), again.Text())
		}
	})
}
