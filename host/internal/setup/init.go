// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/secret"
)

// ErrNotBuilt is the error for what will be understood one day.
var ErrNotBuilt = errors.New("not built yet")

// Init is the configuration for a target, to be written to a file in dir, and a
// note on what to do next. The target is a SQLite file, a DSN (sqlite:FILE), a
// directory of plugins, or empty for a commented start. A relative target
// starts from the process's working directory, as on any command line.
func Init(target, dir string) (yaml []byte, note string, err error) {
	switch scheme := schemeOf(target); {
	case target == "":
		return []byte(header + blank), noteBlank, nil
	case scheme == "sqlite":
		file := strings.TrimPrefix(target[len("sqlite:"):], "//")
		file, options, found := strings.Cut(file, "?")
		if found {
			options = "?" + options
		}
		return database(target, file, options, dir)
	case scheme == "postgres", scheme == "postgresql", scheme == "mysql":
		return nil, "", fmt.Errorf("%s databases are %w: give a SQLite file", scheme, ErrNotBuilt)
	case scheme == "http", scheme == "https":
		return nil, "", fmt.Errorf("REST APIs and remote MCP servers are %w: give a SQLite file or a directory of plugins", ErrNotBuilt)
	}
	info, err := os.Stat(target)
	switch {
	case err != nil && schemeOf(target) != "":
		return nil, "", fmt.Errorf("%s: is unknown: give a SQLite file, sqlite:FILE, or a directory of plugins", schemeOf(target))
	case err != nil:
		return nil, "", fmt.Errorf("%s: %w", target, plain(err))
	case info.IsDir():
		return plugins(target, dir)
	}
	return database(target, target, "", dir)
}

// schemeOf is what stands before the first colon, when it looks like a scheme.
// One letter is a Windows drive.
func schemeOf(target string) string {
	scheme, _, ok := strings.Cut(target, ":")
	if !ok || len(scheme) < 2 {
		return ""
	}
	for _, r := range scheme {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '+' {
			return ""
		}
	}
	return scheme
}

// database configures the SQL plugin for a SQLite file.
func database(target, file, options, dir string) (yaml []byte, note string, err error) {
	if err := isSQLite(file); err != nil {
		return nil, "", fmt.Errorf("%s: %w", target, err)
	}
	path, err := fromDir(file, dir)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", target, err)
	}
	if strings.ContainsAny(path, "?") {
		return nil, "", fmt.Errorf("%s: a ? in the file's name would begin options: rename the file or link to it", target)
	}
	name := adapterName(filepath.Base(file))
	dsn := quote(secret.Escape("sqlite:" + filepath.ToSlash(path) + options))
	return []byte(header + fmt.Sprintf(sqlTemplate, name, dsn)), fmt.Sprintf(noteSQL, name), nil
}

// sqliteMagic begins every SQLite 3 file (https://sqlite.org/fileformat2.html, 1.3).
const sqliteMagic = "SQLite format 3\x00"

// isSQLite refuses what SQLite would refuse or, worse, create.
func isSQLite(file string) error {
	if file == "" || file == ":memory:" {
		return errors.New("names no file")
	}
	info, err := os.Stat(file)
	if err != nil {
		return plain(err)
	}
	if !info.Mode().IsRegular() {
		return errors.New("not a regular file")
	}
	f, err := os.Open(file)
	if err != nil {
		return plain(err)
	}
	defer f.Close()
	magic := make([]byte, len(sqliteMagic))
	if _, err := io.ReadFull(f, magic); err != nil || string(magic) != sqliteMagic {
		return errors.New("not a SQLite database: give one, a directory of plugins, or nothing")
	}
	return nil
}

// plugins configures a directory of plugins.
func plugins(target, dir string) (yaml []byte, note string, err error) {
	path, err := fromDir(target, dir)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", target, err)
	}
	if strings.Contains(path, "${") {
		return nil, "", fmt.Errorf("%s: a directory with ${ in its name cannot be configured", target)
	}
	return []byte(header + fmt.Sprintf(pluginsTemplate, quote(filepath.ToSlash(path)))), notePlugins, nil
}

// fromDir is a path as it is written into a file in dir: relative when it lies
// within dir, so that the two can move together, else absolute.
func fromDir(path, dir string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	base, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(base, abs)
	if err != nil || !filepath.IsLocal(rel) {
		return abs, nil //nolint:nilerr // another drive: there is no relative path
	}
	if rel == "~" || strings.HasPrefix(rel, "~/") {
		rel = "./" + rel
	}
	return rel, nil
}

// adapterName makes a name of a file's: orders-2026.db is orders-2026.
func adapterName(file string) string {
	file, _, _ = strings.Cut(strings.TrimLeft(strings.ToLower(file), "."), ".")
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, file)
	for strings.Contains(name, "__") {
		name = strings.ReplaceAll(name, "__", "_")
	}
	name = strings.Trim(name, "_-")
	if name == "" {
		return "db"
	}
	if name[0] < 'a' || name[0] > 'z' {
		name = "db_" + name
	}
	const longest = 32 // leaves half of a public name to the tool
	return strings.TrimRight(name[:min(len(name), longest)], "_-")
}

// plain drops the operation and the path that a caller shows already.
func plain(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}
