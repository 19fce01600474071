// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"errors"
	"sync"

	"github.com/toolwharf/toolwharf/host/internal/adapter/process/cgroup"
)

// cgroups returns the host's part of cgroup v2, or why it has none. It is divided
// when the first adapter is limited, not before.
func cgroups(ownProcess bool) func() (*cgroup.Tree, error) {
	if !ownProcess { // it may be a program's whose cgroup is not to be touched
		return func() (*cgroup.Tree, error) { return nil, errors.New("this process is not the host's alone") }
	}
	return sync.OnceValues(func() (*cgroup.Tree, error) {
		t, err := cgroup.Look()
		if err == nil {
			err = t.Divide()
		}
		if err != nil {
			return nil, err
		}
		t.Sweep()
		return t, nil
	})
}
