// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// replace puts another version of a plugin in its place, as an installer does:
// beside it first, then over it. Bytes after the end of an executable change
// nothing but its content.
func replace(t *testing.T, file string, version int) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(built, "examples", "echo"))
	if err != nil {
		t.Fatal(err)
	}
	half := filepath.Join(filepath.Dir(file), "."+filepath.Base(file))
	if err := os.WriteFile(half, fmt.Appendf(raw, "version %d", version), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(half, file); err != nil {
		t.Fatal(err)
	}
}

// A swap waits until the file has settled, and starts a process: adapters swap
// side by side, each as soon as its last swap is over, so that a hundred do not
// take a hundred times as long.
func TestUnderStressSwapsFailNoCall(t *testing.T) {
	adapters, swaps := soaked(5, 10), soaked(4, 10) // so many of each
	var yaml strings.Builder
	yaml.WriteString("rules: [{allow: ['*_append_call']}]\nadapters:\n")
	for i := range adapters {
		fmt.Fprintf(&yaml, "  a%d: {plugin: echo%d, env: {ECHO_FILE: calls}, sandbox: {allow: {write: [calls]}}}\n", i, i)
	}
	dir, plugins := workspace(t, yaml.String())
	empty(t, filepath.Join(dir, "calls"))
	exes := map[string]int{}
	file := func(i int) string { return filepath.Join(plugins, fmt.Sprintf("echo%d", i)) }
	for i := range adapters {
		replace(t, file(i), 0)
		exes[filepath.Base(file(i))] = 1
	}
	f := &fleet{host: serve(t, dir), size: adapters, plugins: plugins, file: filepath.Join(dir, "calls"), tally: newTally()}
	f.caller = f.host.caller()
	f.expectChildren(plugins, adapters, exes)

	process := func(i int) int {
		a := f.caller.call(t.Context(), fmt.Sprintf("a%d_count", i), `{}`)
		var out struct{ PID int }
		if err := json.Unmarshal([]byte(a.structured), &out); err != nil || !a.ok() {
			t.Errorf("a%d: %v", i, a)
		}
		return out.PID
	}
	ctx, done := context.WithCancel(t.Context())
	defer done()
	besieged := make(chan struct{})
	go func() {
		defer close(besieged)
		f.besiege(ctx, 16)
	}()
	var all sync.WaitGroup
	for i := range adapters {
		all.Go(func() {
			for version := range swaps {
				before := process(i)
				replace(t, file(i), version+1)
				for process(i) == before && !t.Failed() {
				}
			}
		})
	}
	all.Wait()
	done()
	<-besieged
	t.Logf("%d swaps; %v", adapters*swaps, f.tally.calls)
	for how, n := range f.tally.calls {
		if !strings.HasSuffix(how, " as asked") {
			t.Errorf("%d calls: %s", n, how)
		}
	}
	f.expectRight()
	f.expectOnce()
	f.expectChildren(plugins, adapters, exes)
	if n := strings.Count(f.stderr.String(), `"adapter is ready"`); n != adapters*(1+swaps) {
		t.Errorf("%d processes were started, there were %d swaps", n, adapters*swaps)
	}
}
