// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/secret"
)

// fake is a Source without a machine behind it.
type fake struct {
	env   map[string]string
	files map[string]string
	reads *int
}

func (f fake) Env(name string) (string, bool) { v, ok := f.env[name]; return v, ok }

func (f fake) File(path string) ([]byte, error) {
	if f.reads != nil {
		*f.reads++
	}
	v, ok := f.files[path]
	if !ok {
		return nil, &os.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
	}
	return []byte(v), nil
}

var source = fake{
	env: map[string]string{
		"A": "alpha", "b_2": "beta", "EMPTY": "", "NESTED": "${A}", "BINARY": "\xff\xfe", "NUL": "a\x00b",
	},
	files: map[string]string{
		"/run/dsn": "postgres://u:p@h/db\n", "/run/crlf": "x\r\n", "/run/two": "x\n\n", "/run/empty": "\n",
		"/run/huge": strings.Repeat("x", secret.MaxFile+1), "rel": "relative", "/run/64k": strings.Repeat("y", secret.MaxFile),
	},
}

func TestExpand(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"text without references is left alone":            {"plain $ text $A $$A } {", "plain $ text $A $$A } {"},
		"a variable is replaced":                           {"${A}", "alpha"},
		"several references stand in one text":             {"<${A}-${b_2}-${A}>", "<alpha-beta-alpha>"},
		"a file is replaced without its last newline":      {"${file:/run/dsn}", "postgres://u:p@h/db"},
		"a Windows newline is one newline":                 {"${file:/run/crlf}", "x"},
		"only one newline is dropped":                      {"${file:/run/two}", "x\n"},
		"a relative path is the Source's to resolve":       {"${file:rel}", "relative"},
		"a doubled dollar is a literal reference":          {"$${A}", "${A}"},
		"an escape needs no closing brace":                 {"a $${ b", "a ${ b"},
		"of three dollars the first stays":                 {"$$${A}", "$${A}"},
		"what a value says is not read again":              {"${NESTED}", "${A}"},
		"an escape and a reference stand beside another":   {"$${A}${A}", "${A}alpha"},
		"a file of exactly 64 KiB is accepted":             {"${file:/run/64k}", strings.Repeat("y", secret.MaxFile)},
		"text beyond ASCII is kept":                        {"é${A}—ß", "éalpha—ß"},
		"a dollar at the end is text":                      {"cost: 5$", "cost: 5$"},
		"a name in braces without a dollar is text":        {"{A}", "{A}"},
		"the empty text is empty":                          {"", ""},
		"a dollar directly after a reference is untouched": {"${A}$", "alpha$"},
	} {
		t.Run(name, func(t *testing.T) {
			got, missing, err := secret.Expand(c.in, source)
			if err != nil || missing != nil {
				t.Fatalf("missing %v, error %v", missing, err)
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestAMissingReferenceIsNamedAndNothingIsHandedOut(t *testing.T) {
	for in, want := range map[string]string{
		"x ${NOPE} ${A}":      "${NOPE} is not set",
		"${EMPTY}":            "${EMPTY} is set but empty",
		"${BINARY}":           "${BINARY} is not UTF-8 text",
		"${NUL}":              "${NUL} is not text: it holds a NUL byte",
		"${file:/run/nope}":   "${file:/run/nope}: no such file",
		"${file:/run/empty}":  "${file:/run/empty}: the file is empty",
		"${file:/run/huge}":   "${file:/run/huge}: larger than 64 KiB",
		"${NOPE}${NOPE_TOO}x": "${NOPE} is not set, ${NOPE_TOO} is not set",
	} {
		t.Run(in, func(t *testing.T) {
			got, missing, err := secret.Expand(in, source)
			if err != nil {
				t.Fatal(err)
			}
			if got != "" {
				t.Errorf("half an expansion was handed out: %q", got)
			}
			texts := make([]string, 0, len(missing))
			for _, m := range missing {
				texts = append(texts, m.String())
			}
			if s := strings.Join(texts, ", "); s != want {
				t.Errorf("got %q, want %q", s, want)
			}
		})
	}
}

func TestABrokenReferenceIsAnErrorWithItsPosition(t *testing.T) {
	for name, c := range map[string]struct {
		in     string
		column int
	}{
		"not closed":                  {"ab${A", 3},
		"no name":                     {"${}", 1},
		"a name with a blank":         {"é${A B}", 2},
		"a name that starts with 1":   {"${1A}", 1},
		"a default value":             {"${A:-x}", 1},
		"a file without a path":       {"${file:}", 1},
		"a path with a line break":    {"${file:/a\nb}", 1},
		"a reference in a reference":  {"${file:/${A}}", 1},
		"an unknown scheme":           {"${vault:secret/x}", 1},
		"the second one is broken":    {"${A} and ${", 10},
		"an escape before the broken": {"$${A} ${-}", 7},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := secret.Expand(c.in, source)
			var syntax *secret.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("got %v, want a SyntaxError", err)
			}
			if syntax.Column != c.column {
				t.Errorf("column %d, want %d", syntax.Column, c.column)
			}
			if _, err := secret.Refs(c.in); err == nil {
				t.Error("Refs accepts what Expand refuses")
			}
		})
	}
}

func TestAnErrorNeverShowsTheTextAroundAReference(t *testing.T) {
	const password = "hunter2hunter2"
	for _, in := range []string{password + "${" + password, "${" + password + " }", password + "${file:}" + password} {
		_, _, err := secret.Expand(in, source)
		if err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("%v", err)
		}
	}
}

func TestRefsListsReferencesInOrder(t *testing.T) {
	got, err := secret.Refs("${A} $${B} ${file:/x/y} ${A}")
	if err != nil {
		t.Fatal(err)
	}
	want := []secret.Ref{{Env: "A"}, {File: "/x/y"}, {Env: "A"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if s := got[1].String(); s != "${file:/x/y}" {
		t.Errorf("a file reference is written %s", s)
	}
}

func TestExpandTree(t *testing.T) {
	in := map[string]any{
		"dsn":   "${file:/run/dsn}",
		"list":  []any{"${A}", json.Number("9007199254740993"), true, nil, "plain"},
		"deep":  map[string]any{"a/b": "x${b_2}", "${A}": "keys are text"},
		"again": "${file:/run/dsn}",
	}
	before, _ := json.Marshal(in)
	reads := 0
	src := source
	src.reads = &reads
	got, missing, secrets, err := secret.ExpandTree(in, src)
	if err != nil || missing != nil {
		t.Fatalf("missing %v, error %v", missing, err)
	}
	want := map[string]any{
		"dsn":   "postgres://u:p@h/db",
		"list":  []any{"alpha", json.Number("9007199254740993"), true, nil, "plain"},
		"deep":  map[string]any{"a/b": "xbeta", "${A}": "keys are text"},
		"again": "postgres://u:p@h/db",
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"alpha", "beta", "postgres://u:p@h/db"}, secrets); diff != "" {
		t.Errorf("the secrets: %s", diff)
	}
	if reads != 1 {
		t.Errorf("the file was read %d times for one tree", reads)
	}
	if after, _ := json.Marshal(in); string(after) != string(before) {
		t.Error("the input was changed")
	}
}

func TestExpandTreeReportsEverythingAtOnceWithItsPlace(t *testing.T) {
	in := map[string]any{
		"a": []any{"ok", "${NOPE}"}, "b/c~": "${file:/nope}", "d": "${", "e": "${x y}", "f": "${A}",
	}
	tree, missing, secrets, err := secret.ExpandTree(in, source)
	if tree != nil || secrets != nil {
		t.Errorf("half an expansion was handed out: %v %v", tree, secrets)
	}
	want := []secret.Missing{
		{Ref: secret.Ref{Env: "NOPE"}, Pointer: "/a/1", Reason: "is not set"},
		{Ref: secret.Ref{File: "/nope"}, Pointer: "/b~1c~0", Reason: "no such file"},
	}
	if diff := cmp.Diff(want, missing); diff != "" {
		t.Error(diff)
	}
	for _, place := range []string{"/d: character 1: ", "/e: character 1: "} {
		if err == nil || !strings.Contains(err.Error(), place) {
			t.Errorf("the error names no %q: %v", place, err)
		}
	}
}

func TestReferencesCannotFillTheMemory(t *testing.T) {
	in := strings.Repeat("${file:/run/64k}", secret.MaxExpanded/secret.MaxFile+1)
	if _, _, err := secret.Expand(in, source); !errors.Is(err, secret.ErrExpanded) {
		t.Errorf("got %v", err)
	}
	ok := strings.Repeat("${file:/run/64k}", secret.MaxExpanded/secret.MaxFile)
	if out, _, err := secret.Expand(ok, source); err != nil || len(out) != secret.MaxExpanded {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

func TestSystemReadsTheEnvironmentAndRegularFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("token", "s3cret\n")
	huge := write("huge", strings.Repeat("x", secret.MaxFile+1))
	link := filepath.Join(dir, "link")
	if err := os.Symlink("token", link); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TOOLWHARF_TEST_SECRET", "from the environment")
	src := secret.System{Dir: dir}
	for in, want := range map[string]string{
		"${TOOLWHARF_TEST_SECRET}": "from the environment",
		"${file:token}":            "s3cret",
		"${file:" + link + "}":     "s3cret",
	} {
		if got, missing, err := secret.Expand(in, src); got != want || err != nil || missing != nil {
			t.Errorf("%s is %q, missing %v, error %v", in, got, missing, err)
		}
	}
	for path, want := range map[string]string{
		fifo: "not a regular file", dir: "not a regular file", huge: "larger than 64 KiB", dir + "/none": "no such file",
		dir + "/token/x": "not a directory",
	} {
		_, missing, err := secret.Expand("${file:"+path+"}", src)
		if err != nil || len(missing) != 1 || missing[0].Reason != want {
			t.Errorf("%s: missing %v, error %v, want %q", path, missing, err, want)
		}
	}
}

func TestEscapeIsUndoneByExpand(t *testing.T) {
	for _, s := range []string{"", "plain", "${A}", "$${A}", "a$", "${", "$$${x}", "${file:/x}${"} {
		got, missing, err := secret.Expand(secret.Escape(s), source)
		if got != s || missing != nil || err != nil {
			t.Errorf("%q became %q (%v, %v)", s, got, missing, err)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"", "${A}", "$${A}", "${file:/x}", "${", "$$${A}${b_2}", "a}${A", "${file:${A}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		refs, err := secret.Refs(s)
		out, missing, errExpand := secret.Expand(s, source)
		if (err == nil) != (errExpand == nil) {
			t.Fatalf("Refs says %v, Expand says %v", err, errExpand)
		}
		if err != nil {
			return
		}
		if len(refs) == 0 && strings.ReplaceAll(s, "$${", "${") != out {
			t.Fatalf("%q without references became %q", s, out)
		}
		if len(missing) > len(refs) {
			t.Fatalf("%d missing of %d", len(missing), len(refs))
		}
		if got, _, err := secret.Expand(secret.Escape(s), source); got != s || err != nil {
			t.Fatalf("the escaped form of %q expands to %q, %v", s, got, err)
		}
	})
}
