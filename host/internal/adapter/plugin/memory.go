// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/cgroup"
	"github.com/toolwharf/toolwharf/host/internal/adapter/process/sandbox"
)

// reserve is what a runtime takes of private memory before it uses any: a program of
// Go does not start with less.
const reserve = 64 << 20

// memory bounds the memory of one process and of what it starts.
type memory struct {
	group *cgroup.Group
	each  int64 // private memory of each process; 0: any
	said  string
}

// memory bounds d's next process, if that is to be: all of it together by a cgroup,
// or, without one, each of its processes by what a limit of processes can hold.
func (l *Launcher) memory(d *adapter.Desired) (*memory, error) {
	most := d.Limits.Memory
	if most == 0 {
		return &memory{}, nil
	}
	tree, why := (*cgroup.Tree)(nil), errors.New("it was not looked for")
	if l.Cgroups != nil {
		tree, why = l.Cgroups()
	}
	if why == nil {
		group, err := tree.Group(d.Name, cgroup.Limits{Memory: most, Tasks: sandbox.MaxTasks})
		if err != nil {
			return nil, fmt.Errorf("cgroup: %w", err)
		}
		return &memory{group: group, said: fmt.Sprintf("%s for all of it, without swap, in at most %d processes and threads (cgroup)", amount(most), sandbox.MaxTasks)}, nil
	}
	if !sandbox.Here {
		return &memory{said: fmt.Sprintf("not held: %s is what a runtime of Go heeds (GOMEMLIMIT); %s has no limit that could be set", amount(most/10*9), runtime.GOOS)}, nil
	}
	return &memory{each: most + reserve, said: fmt.Sprintf(
		"%s of private memory in each process (setrlimit); not held: memory that processes share, and how many processes there are (cgroup: %v)",
		amount(most+reserve), why)}, nil
}

// limit puts the bounds into what is to be executed.
func (m *memory) limit(spec *process.Spec) { spec.Group, spec.Memory = m.group, m.each }

// end ends what is left.
func (m *memory) end(l *Launcher, adapter string) {
	if m.group == nil {
		return
	}
	if err := m.group.End(); err != nil {
		l.Log.Warn("the cgroup of an adapter was not removed", "adapter", adapter, "error", err)
	}
}

func amount(bytes int64) string {
	if bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
