// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/pin"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// examineFolder looks at everything in a folder, which is trusted itself.
func examineFolder(path string, info fs.FileInfo) (examined, error) {
	x := examined{changed: info.ModTime(), dirs: []string{path}}
	root, err := os.OpenRoot(path)
	if err != nil {
		return x, err
	}
	defer root.Close()
	entries, err := pin.Walk(root)
	if err != nil {
		return x, err
	}
	var all strings.Builder
	fmt.Fprintf(&all, "%s\n", stampOf(info))
	for _, e := range entries {
		full := filepath.Join(path, filepath.FromSlash(e.Path))
		if err := secure(full, e.Info); err != nil {
			return x, err
		}
		if e.Kind == pin.Dir {
			x.dirs = append(x.dirs, full)
		}
		if t := e.Info.ModTime(); t.After(x.changed) {
			x.changed = t
		}
		fmt.Fprintf(&all, "%c %s %s\n", e.Kind, stampOf(e.Info), e.Path)
	}
	x.stamp = tool.DigestOf([]byte(all.String())).String()
	return x, nil
}

// Command is the command in the plugin.yaml of a folder that is a plugin, with
// which it would be served.
func Command(path string) ([]string, error) {
	command, _, err := commandOf(path)
	return command, err
}

// commandOf reads the command of a folder, and sees that its first word can be
// executed: a file of the folder, or one that lies elsewhere and is trusted as
// a plugin is. stamp is that of what lies elsewhere.
func commandOf(path string) (command []string, stamp string, err error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	m, err := readManifest(root)
	if err != nil {
		return nil, "", err
	}
	refuse := func(format string, args ...any) ([]string, string, error) {
		return nil, "", m.fault(0, fmt.Sprintf(format, args...))
	}
	for i, word := range m.command {
		if word == path || strings.HasPrefix(word, path+string(filepath.Separator)) {
			return nil, "", m.fault(i, fmt.Sprintf("%q names the folder itself; begin it with ./", word))
		}
		if rel, inside := strings.CutPrefix(word, "./"); (inside || i == 0) && !filepath.IsAbs(word) {
			if !inside {
				rel = word
			}
			info, err := root.Stat(filepath.FromSlash(rel))
			switch {
			case err != nil && i == 0:
				return refuse("there is no %q in the folder; another program is named by its absolute path", word)
			case err != nil:
				return nil, "", m.fault(i, fmt.Sprintf("there is no %q in the folder", word))
			case i == 0 && (!info.Mode().IsRegular() || !runnable(word, info)):
				return refuse("%q cannot be executed; chmod +x it", word)
			}
		}
	}
	if first := m.command[0]; filepath.IsAbs(first) {
		real, info, ok := resolve(first)
		if !ok || info.IsDir() {
			return refuse("%q cannot be executed", first)
		}
		if err := trusted(real); err != nil {
			return refuse("%v", err)
		}
		stamp = " " + stampOf(info)
	}
	return m.command, stamp, nil
}
