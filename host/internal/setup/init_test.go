// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/setup"
)

// magic begins a SQLite file.
const magic = "SQLite format 3\x00 and so on"

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestInitForADatabase(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	for name, c := range map[string]struct {
		file, target string // target empty: the file
		adapter, dsn string
	}{
		"a file beside the configuration is relative": {file: "orders.db", adapter: "orders", dsn: "sqlite:orders.db"},
		"a file below it too":                         {file: "data/orders.sqlite3", adapter: "orders", dsn: "sqlite:data/orders.sqlite3"},
		"a file elsewhere is absolute":                {file: elsewhere + "/shop.db", adapter: "shop", dsn: "sqlite:" + elsewhere + "/shop.db"},
		"a DSN is the same":                           {file: "orders.db", target: "sqlite:orders.db", adapter: "orders", dsn: "sqlite:orders.db"},
		"a DSN with slashes is the same":              {file: "orders.db", target: "sqlite://orders.db", adapter: "orders", dsn: "sqlite:orders.db"},
		"a DSN keeps its options":                     {file: "orders.db", target: "sqlite:orders.db?mode=ro", adapter: "orders", dsn: "sqlite:orders.db?mode=ro"},
		"a name is made fit":                          {file: "2026 Große Orders.db", adapter: "db_2026_gro_e_orders", dsn: "sqlite:2026 Große Orders.db"},
		"a name of dots is replaced":                  {file: "....db", adapter: "db", dsn: "sqlite:....db"},
		"a long name is cut":                          {file: strings.Repeat("x", 100) + ".db", adapter: strings.Repeat("x", 32), dsn: "sqlite:" + strings.Repeat("x", 100) + ".db"},
		"quotes and references in a name are text":    {file: `a"b' ${HOME}: #.db`, adapter: "a_b_home", dsn: `sqlite:a"b' $${HOME}: #.db`},
		"a colon in a name is no scheme":              {file: "odd:name.db", adapter: "odd_name", dsn: "sqlite:odd:name.db"},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, c.file, magic)
			target := c.target
			if target == "" {
				target = c.file
			}
			yaml, note, err := setup.Init(target, dir)
			if err != nil {
				t.Fatal(err)
			}
			cfg, faults := config.Parse("toolwharf.yaml", yaml, dir)
			if len(faults) > 0 {
				t.Fatalf("%v\n%s", faults, yaml)
			}
			a := cfg.Adapters[0]
			want := map[string]any{"dsn": c.dsn, "allowed_tables": []any{"*"}}
			if diff := cmp.Diff(any(want), a.Config); diff != "" || a.Name != c.adapter || a.Plugin != "sql" {
				t.Errorf("%s is %s\n%s", a.Name, a.Plugin, diff)
			}
			if !strings.Contains(note, c.adapter) {
				t.Errorf("the note names no %s: %s", c.adapter, note)
			}
		})
	}
}

func TestInitForADirectoryOfPlugins(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, target := range map[string]string{
		"below the configuration": "my plugins", "the directory itself": ".", "named like a home": "~", "elsewhere": t.TempDir(),
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.MkdirAll(target, 0o755); err != nil {
				t.Fatal(err)
			}
			yaml, _, err := setup.Init(target, dir)
			if err != nil {
				t.Fatal(err)
			}
			cfg, faults := config.Parse("toolwharf.yaml", yaml, dir)
			if len(faults) > 0 {
				t.Fatalf("%v\n%s", faults, yaml)
			}
			want, _ := filepath.Abs(target)
			if diff := cmp.Diff([]string{want}, cfg.Plugins.Dirs); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInitForNothingIsACommentedStart(t *testing.T) {
	yaml, note, err := setup.Init("", t.TempDir())
	if err != nil || note == "" {
		t.Fatal(note, err)
	}
	dir := t.TempDir()
	cfg, faults := config.Parse("toolwharf.yaml", yaml, dir)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if diff := cmp.Diff(config.Default(dir), cfg); diff != "" {
		t.Errorf("the comments change something: %s", diff)
	}
	// What is commented out is valid as it stands.
	taken := regexp.MustCompile(`(?m)^# ( *[a-z_]+:.*)$`).ReplaceAll(yaml, []byte("$1"))
	cfg, faults = config.Parse("toolwharf.yaml", taken, dir)
	if len(faults) > 0 {
		t.Fatalf("%v\n%s", faults, taken)
	}
	if len(cfg.Adapters) != 1 || cfg.Adapters[0].Name != "orders" {
		t.Errorf("the example has adapters %v", cfg.Adapters)
	}
}

func TestInitRefusesWhatItCannotConfigure(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "notes.txt", "not a database at all")
	write(t, "short.db", "SQLite")
	write(t, "a?b.db", magic)
	for target, want := range map[string]string{
		"none.db":                 "none.db: no such file or directory",
		"notes.txt":               "notes.txt: not a SQLite database",
		"short.db":                "short.db: not a SQLite database",
		"a?b.db":                  "would begin options",
		"sqlite:none.db":          "sqlite:none.db: no such file or directory",
		"sqlite::memory:":         "names no file",
		"sqlite:":                 "names no file",
		"sqlite:.":                "not a regular file",
		"postgres://u:p@h/db":     "postgres databases are not built yet",
		"mysql://u:p@h/db":        "mysql databases are not built yet",
		"https://example.com/api": "are not built yet",
		"redis://h":               "redis: is unknown",
	} {
		t.Run(target, func(t *testing.T) {
			yaml, _, err := setup.Init(target, dir)
			if err == nil || yaml != nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			if err != nil && strings.Contains(err.Error(), "u:p@") {
				t.Errorf("a credential is shown: %v", err)
			}
			if strings.Contains(want, "not built yet") != errors.Is(err, setup.ErrNotBuilt) {
				t.Errorf("%v and ErrNotBuilt disagree", err)
			}
		})
	}
}

func TestWriteNewNeverOverwrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "toolwharf.yaml")
	if err := setup.WriteNew(path, []byte("mine")); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v", info.Mode())
	}
	if err := setup.WriteNew(path, []byte("yours")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "mine" {
		t.Errorf("the file is %q", got)
	}
	if err := os.Symlink("elsewhere", path+".link"); err != nil {
		t.Fatal(err)
	}
	if err := setup.WriteNew(path+".link", []byte("yours")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link was followed: %v", err)
	}
	if err := setup.WriteNew(filepath.Join(path, "below"), nil); err == nil {
		t.Error("a file below a file was written")
	}
}
