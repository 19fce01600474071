// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAFolderIsAPluginByItsCommand(t *testing.T) {
	o := options(t, "none")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"plugin.yaml": "command: [start, ./plugin.yaml]\n",
		"start":       fmt.Sprintf("#!/bin/sh\n[ -f \"$1\" ] && exec %s\n", o.Path),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	o.Path, o.Only = dir, []string{"launch", "end/shutdown"}
	for _, f := range judge(t, o).Findings {
		if f.Status != OK {
			t.Errorf("%+v", f)
		}
	}
}

func TestWhatIsNoPluginIsRefusedBeforeAnythingIsStarted(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	folder := func(text string) string {
		d := t.TempDir()
		if err := os.WriteFile(filepath.Join(d, "plugin.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return d
	}
	good := options(t, "none")
	for want, o := range map[string]Options{
		"cannot be executed":         {Path: plain},
		"command: has no word":       {Path: folder("command: []")},
		"no-such-program-at-all":     {Path: folder("command: [no-such-program-at-all]")},
		"not a JSON object":          {Path: good.Path, Config: json.RawMessage(`[]`)},
		"TOOLWHARF_X may not be set": {Path: good.Path, Env: map[string]string{"TOOLWHARF_X": "1"}},
		`no check "lunch"`:           {Path: good.Path, Only: []string{"launch", "lunch"}},
	} {
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, path := range []string{filepath.Join(dir, "nothing"), dir} {
		if _, err := Run(t.Context(), Options{Path: path}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestWithoutItsConfigurationAPluginIsJudgedByWhatNeedsNone(t *testing.T) {
	o := options(t, "none")
	o.Config = nil
	var judged []string
	for _, f := range judge(t, o).Findings {
		switch {
		case f.Status == Failed:
			t.Errorf("%+v", f)
		case f.Status == OK:
			judged = append(judged, f.Check)
		case !strings.Contains(f.Reason, "configuration") && !strings.Contains(f.Reason, "Linux"):
			t.Errorf("%s is not run for another reason: %s", f.Check, f.Reason)
		}
	}
	for _, id := range []string{"launch/strangers", "describe/answer", "configure/watch-first", "configure/bad-input", "end/shutdown", "end/stdout"} {
		if !slices.Contains(judged, id) {
			t.Errorf("%s is not judged", id)
		}
	}
}

func TestToolsWithEffectsAreCalledOnlyWhenThatIsAsked(t *testing.T) {
	o := options(t, "none") // whose tool "write" ends the process
	o.Only, o.CallAll = []string{"calls/valid"}, true
	if f := judge(t, o).Findings[0]; f.Status != Failed || !strings.Contains(f.Reason, "write") {
		t.Errorf("%+v", f)
	}
	o.CallAll = false
	if f := judge(t, o).Findings[0]; f.Status != OK || !strings.Contains(f.Reason, "not called without --call-all: write") {
		t.Errorf("%+v", f)
	}
}
