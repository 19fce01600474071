// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/cgroup"
)

func TestUnderStressAnAdapterThatTakesMoreMemoryThanItMayEndsAndHarmsNobody(t *testing.T) {
	whole(t)
	dir, plugins := workspace(t, `
rules: [{allow: ["*"]}]
adapters:
  limited: {plugin: mischief, env: {MISCHIEF: intrudes}, limits: {memory: 128MiB, timeout: 20s}}
  free: {plugin: mischief, env: {MISCHIEF: intrudes}, limits: {memory: 128MiB, timeout: 20s}, sandbox: off}
`)
	for _, plugin := range []string{"echo", "hello", "mischief"} {
		install(t, plugin, plugins)
	}
	h := serve(t, dir)
	i := &intruders{host: h, caller: h.caller()}
	want := "128 MiB for all of it, without swap, in at most 1024 processes and threads (cgroup)"
	if _, err := cgroup.Look(); err != nil {
		t.Log("NOT TESTED HERE: limits by a cgroup: ", err)
		want = "192 MiB of private memory in each process (setrlimit); not held: memory that processes share, and how many processes there are (cgroup: "
	}
	stdout, _, _ := run(t, dir, "adapters", "show", "limited")
	if !strings.Contains(stdout, want) {
		t.Errorf("adapters show does not say %q:\n%s", want, stdout)
	}
	h.unharmed(t, func() {
		for _, name := range []string{"limited", "free"} {
			before := h.moored()[name]
			if !strings.HasPrefix(before.Memory, want) {
				t.Errorf("%s: %q, want %q", name, before.Memory, want)
			}
			environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", before.PID))
			if os.Getuid() == 0 && (err != nil || !strings.Contains(string(environ), "\x00GOMEMLIMIT=120795948\x00")) {
				t.Errorf("%s: its runtime is not told: %v %q", name, err, environ)
			}
			i.expects(t, name+" takes what it may", name, "hoard 30", works)
			if a := h.caller().call(t.Context(), name+"_intrude", `{"text":"hoard 1000"}`); a.ok() || a.err != nil {
				t.Errorf("%s takes what it may not: %v", name, a)
			}
			eventually(t, "it is started again", func() error {
				if a := h.moored()[name]; a.State != "ready" || a.PID == before.PID {
					return fmt.Errorf("it is %s (%s), process %d", a.State, a.Cause, a.PID)
				}
				return nil
			})
		}
	})
}
