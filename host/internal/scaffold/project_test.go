// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// checkout is this repository.
func checkout(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if !isCheckout(root) {
		t.Skip("not in the repository")
	}
	return root
}

// golang runs the go command in a project, with nothing from outside.
func golang(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly -buildvcs=false", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestAProjectIsFormattedAndPassesItsOwnTests(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b", "new")
	p := Project{Name: "my-tool_2", Dir: dir, SDK: SDK{Checkout: checkout(t)}}
	names, err := p.Write()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum", "main.go", "greet.go", "greet_test.go", "README.md", "Makefile", ".gitignore", ".github/workflows/ci.yml"} {
		if !slices.Contains(names, name) {
			t.Errorf("there is no %s: %q", name, names)
		}
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Contains(string(text), placeholder) || len(text) == 0 {
			t.Errorf("%s: %v:\n%s", name, err, text)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "gofmt", "-l", dir).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("gofmt: %v: %s", err, out)
	}
	golang(t, dir, "vet", "./...")
	golang(t, dir, "test", "./...")
	if got := golang(t, dir, "list", "-m"); got != "example.com/my-tool_2\n" {
		t.Errorf("the module is %q", got)
	}
}

func TestWhatCannotBeMadeIsRefusedAndNothingIsWritten(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	for want, p := range map[string]Project{
		`"My Tool": a plugin's name`:  {Name: "My Tool", Dir: empty},
		`"../x"`:                      {Name: "../x", Dir: empty},
		`name ""`:                     {Dir: empty},
		`"` + strings.Repeat("a", 64): {Name: strings.Repeat("a", 64), Dir: empty},
		"the module":                  {Name: "x", Module: "a b", Dir: empty},
		"the module \"x\n":            {Name: "x", Module: "x\nrequire y v1.0.0", Dir: empty},
		"is not empty: it has mine":   {Name: "x", Dir: full},
		"not a directory":             {Name: "x", Dir: filepath.Join(full, "mine")},
	} {
		p.SDK = SDK{Version: "v1.0.0"}
		_, err := p.Write()
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), `\n`, "\n"), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if entries, err := os.ReadDir(empty); err != nil || len(entries) > 0 {
		t.Errorf("written: %v, %v", entries, err)
	}
}

func TestTheSDKIsTheNamedOneOrTheHostsOwnCheckoutOrARelease(t *testing.T) {
	root := checkout(t)
	for name, tc := range map[string]struct {
		named, version string
		checkouts      []string
		want           SDK
		reason         string
	}{
		"a checkout":                   {named: root, want: SDK{Checkout: root}},
		"its folder":                   {named: filepath.Join(root, "sdk", "go"), want: SDK{Checkout: root}},
		"what is none":                 {named: t.TempDir(), checkouts: []string{root}, reason: "neither a checkout"},
		"the host's own":               {checkouts: []string{"", "github.com/toolwharf/toolwharf", root}, version: "v1.2.3", want: SDK{Checkout: root}},
		"a release":                    {checkouts: []string{t.TempDir()}, version: "v1.2.3", want: SDK{Version: "v1.2.3"}},
		"a release to come":            {version: "v1.2.3-rc.1", want: SDK{Version: "v1.2.3-rc.1"}},
		"neither":                      {version: "dev", reason: "--sdk PATH"},
		"a commit after a release":     {version: "v1.2.3-4-gabcdef0", reason: "--sdk PATH"},
		"a release with local changes": {version: "v1.2.3-dirty", reason: "--sdk PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := FindSDK(tc.named, tc.checkouts, tc.version)
			if got != tc.want || (err != nil) != (tc.reason != "") || err != nil && !strings.Contains(err.Error(), tc.reason) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestAProjectOfAReleaseAsksForIt(t *testing.T) {
	dir := t.TempDir()
	p := Project{Name: "x", Module: "example.org/x", Dir: dir, SDK: SDK{Version: "v1.2.3"}}
	if _, err := p.Write(); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !strings.Contains(string(mod), "module example.org/x\n") ||
		!strings.Contains(string(mod), "require github.com/toolwharf/toolwharf/sdk/go v1.2.3\n") || strings.Contains(string(mod), "replace") {
		t.Errorf("%v\n%s", err, mod)
	}
}
