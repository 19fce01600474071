//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who can write a plugin, or a directory above it, decides what the host runs.
func TestAPluginMustBeWritableByTheHostsUserOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		// file, dir and above are the modes of the plugin, its directory and
		// the one above that.
		file, dir, above fs.FileMode
		// blames names the one that is refused: "file", "dir", "above" or "".
		blames string
	}{
		"only the owner may write":               {0o755, 0o755, 0o755, ""},
		"nobody may write":                       {0o555, 0o555, 0o555, ""},
		"everybody may write the file":           {0o757, 0o755, 0o755, "file"},
		"the group may write the file":           {0o775, 0o755, 0o755, "file"},
		"everybody may write the directory":      {0o755, 0o777, 0o755, "dir"},
		"the group may write the directory":      {0o755, 0o775, 0o755, "dir"},
		"everybody may write a directory above":  {0o755, 0o755, 0o777, "above"},
		"the directory above is sticky":          {0o755, 0o755, 0o777 | fs.ModeSticky, ""},
		"the directory itself is only sticky":    {0o755, 0o777 | fs.ModeSticky, 0o755, "dir"},
		"a sticky directory does not save files": {0o777, 0o755, 0o777 | fs.ModeSticky, "file"},
	} {
		t.Run(name, func(t *testing.T) {
			above := directory(t)
			dir := filepath.Join(above, "plugins")
			mkdir(t, dir)
			file := put(t, dir, "orders")
			if strings.HasPrefix(name, "the group") { // not the user's own
				if os.Geteuid() != 0 {
					t.Skip("SKIPPED: only root can give a file to another group")
				}
				for _, path := range []string{file, dir} {
					if err := os.Chown(path, -1, 1); err != nil {
						t.Fatal(err)
					}
				}
			}
			chmod(t, file, tc.file)
			chmod(t, dir, tc.dir)
			chmod(t, above, tc.above)
			t.Cleanup(func() { chmod(t, above, 0o755); chmod(t, dir, 0o755) })

			c := look(dir)
			blamed := map[string]string{"file": file, "dir": dir, "above": above}[tc.blames]
			if blamed == "" {
				if len(c.Plugins) != 1 {
					t.Errorf("found %+v", c.Plugins)
				}
				expectNotes(t, c)
				return
			}
			if len(c.Plugins) != 0 {
				t.Errorf("found %+v", c.Plugins)
			}
			expectNotes(t, c, []string{"is left out", blamed + " can be written by others", "chmod go-w " + blamed})
		})
	}
}

func TestALinkIsTrustedAsFarAsWhereItLeads(t *testing.T) {
	dir, elsewhere := directory(t), directory(t)
	target := put(t, elsewhere, "orders")
	if err := os.Symlink(target, filepath.Join(dir, "orders")); err != nil {
		t.Fatal(err)
	}
	if c := look(dir); len(c.Plugins) != 1 {
		t.Fatalf("notes %q", c.Notes)
	}
	chmod(t, elsewhere, 0o777)
	c := look(dir)
	if len(c.Plugins) != 0 {
		t.Errorf("found %+v", c.Plugins)
	}
	expectNotes(t, c, []string{filepath.Join(dir, "orders"), elsewhere + " can be written by others"})
}

func TestWhatBelongsToAnotherUserIsNotTrusted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	const nobody = 65534
	for _, which := range []string{"file", "dir", "above"} {
		t.Run(which, func(t *testing.T) {
			above := directory(t)
			dir := filepath.Join(above, "plugins")
			mkdir(t, dir)
			file := put(t, dir, "orders")
			given := map[string]string{"file": file, "dir": dir, "above": above}[which]
			if err := os.Chown(given, nobody, nobody); err != nil {
				t.Fatal(err)
			}
			c := look(dir)
			if len(c.Plugins) != 0 {
				t.Errorf("found %+v", c.Plugins)
			}
			expectNotes(t, c, []string{given + " belongs to user 65534, neither the host's user nor root"})
		})
	}
}
