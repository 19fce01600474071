// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package catalog says which plugins lie in the directories. It starts
// nothing.
package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Directory is where plugins are looked for.
type Directory struct {
	// Path is absolute.
	Path string
	// DropIn: a plugin that lies here becomes an adapter of its own name even
	// if nobody names it.
	DropIn bool
}

// Plugin is one executable, or one folder with a plugin.yaml, that was found.
type Plugin struct {
	// Name is the file's name, without ".exe", or the folder's.
	Name string
	// Path is absolute, symbolic links resolved.
	Path string
	// Command is a folder's; nil: Path is the executable.
	Command []string
	// Stamp changes when the file does, or anything in the folder: size, time
	// of change and identity.
	Stamp  string
	DropIn bool
}

// Contents is what was found.
type Contents struct {
	// Plugins are sorted by name, one of each name.
	Plugins []Plugin
	// Notes are what was left out, and why.
	Notes []string
	// unsettled: a file was left out, or what was there before it is given in
	// its place, only because it may still be written.
	unsettled bool
	// folders are the directories of all folders that may be plugins: where
	// something may change.
	folders []string
}

// Find returns the plugin of a name.
func (c *Contents) Find(name string) (Plugin, bool) {
	i, ok := slices.BinarySearchFunc(c.Plugins, name, func(p Plugin, n string) int { return strings.Compare(p.Name, n) })
	if !ok {
		return Plugin{}, false
	}
	return c.Plugins[i], true
}

// pluginName is what a plugin's file may be called.
var pluginName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// maxFiles in one directory: more is a mistake in the configuration.
const maxFiles = 1000

// settled is how long a file must not have changed before it is started.
const settled = 250 * time.Millisecond

// scanner looks into the directories, and remembers what it saw.
type scanner struct {
	dirs    []Directory
	seen    map[string]sighting
	offered map[string]Plugin // by the path in the directory
	now     func() time.Time
}

// sighting is when a file was first seen with this stamp.
type sighting struct {
	stamp string
	since time.Time
}

// scan looks once. A directory that is not there holds nothing.
func (s *scanner) scan() *Contents {
	c := &Contents{}
	found := map[string]Plugin{}
	next := scanner{seen: map[string]sighting{}, offered: map[string]Plugin{}}
	for _, dir := range s.dirs {
		for _, p := range s.directory(dir, c, &next) {
			if first, taken := found[p.Name]; taken {
				c.Notes = append(c.Notes, fmt.Sprintf("%s is left out: %s has the same name and comes first", p.Path, first.Path))
				continue
			}
			found[p.Name] = p
		}
	}
	for _, p := range found {
		c.Plugins = append(c.Plugins, p)
	}
	slices.SortFunc(c.Plugins, func(a, b Plugin) int { return strings.Compare(a.Name, b.Name) })
	s.seen, s.offered = next.seen, next.offered
	return c
}

func (s *scanner) directory(dir Directory, c *Contents, next *scanner) []Plugin {
	note := func(path string, reason any) {
		c.Notes = append(c.Notes, fmt.Sprintf("%s is left out: %v", path, reason))
	}
	entries, err := os.ReadDir(dir.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = trusted(dir.Path)
	}
	if err != nil {
		note(dir.Path, err)
		return nil
	}
	if len(entries) > maxFiles {
		note(dir.Path, fmt.Sprintf("it holds more than %d files", maxFiles))
		return nil
	}
	var plugins []Plugin
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(dir.Path, e.Name())
		real, info, ok := resolve(path)
		if !ok {
			continue
		}
		name := strings.TrimSuffix(e.Name(), ".exe")
		if !pluginName.MatchString(name) {
			note(path, "a plugin's name begins with a-z and has a-z 0-9 _ - only, at most 63")
			continue
		}
		seen, err := examine(real, info)
		c.folders = append(c.folders, seen.dirs...)
		if err != nil {
			note(path, err)
			continue
		}
		p := Plugin{Name: name, Path: real, Stamp: seen.stamp, DropIn: dir.DropIn}
		switch {
		case !s.isSettled(real, seen, next.seen):
			c.unsettled = true
			// What was there before serves on until the new one is whole.
			before, known := s.offered[path]
			if !known {
				continue
			}
			p = before
		case info.IsDir():
			command, stamp, err := commandOf(real)
			if err != nil {
				note(path, err)
				continue
			}
			p.Command, p.Stamp = command, seen.stamp+stamp
		}
		next.offered[path] = p
		plugins = append(plugins, p)
	}
	return plugins
}

// isSettled: a file that was written just now may be half of one, and a folder
// in which something was.
func (s *scanner) isSettled(path string, x examined, present map[string]sighting) bool {
	seen, known := s.seen[path]
	if !known || seen.stamp != x.stamp {
		seen = sighting{x.stamp, s.now()}
	}
	present[path] = seen
	age := s.now().Sub(x.changed)
	return age > 8*settled || s.now().Sub(seen.since) >= settled
}

// Trusted reports, as an error, that somebody else than the host's user or root
// could change a file or a directory, itself or by one above it.
func Trusted(path string) error { return trusted(path) }

// resolve follows path and reports whether what is there may be a plugin: an
// executable, or a folder with a plugin.yaml.
func resolve(path string) (real string, info fs.FileInfo, ok bool) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", nil, false
	}
	info, err = os.Stat(real)
	switch {
	case err != nil:
		return "", nil, false
	case info.IsDir():
		_, err := os.Lstat(filepath.Join(real, manifestName))
		return real, info, err == nil
	default:
		return real, info, info.Mode().IsRegular() && runnable(path, info)
	}
}

// examined is what is known of a file or a folder without reading it.
type examined struct {
	stamp   string
	changed time.Time // last
	dirs    []string  // of a folder, itself too
}

// examine looks whether a file or a folder can be trusted, and whether it is
// what it was.
func examine(real string, info fs.FileInfo) (examined, error) {
	if err := trusted(real); err != nil || !info.IsDir() {
		return examined{stamp: stampOf(info), changed: info.ModTime()}, err
	}
	return examineFolder(real, info)
}

func stampOf(info fs.FileInfo) string {
	return fmt.Sprintf("%d-%d-%s", info.Size(), info.ModTime().UnixNano(), identity(info))
}
