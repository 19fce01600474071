// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import "github.com/toolwharf/toolwharf/host/internal/tool"

// Hold holds the runner of an adapter, whatever it offers, until release is
// called, once.
func (r *Registry) Hold(adapter string) (runner tool.Runner, release func(), ok bool) {
	for {
		m, moored := r.current.Load().moored[adapter]
		if !moored {
			return nil, nil, false
		}
		if m.berth.hold() {
			return m.berth.runner, m.berth.release, true
		}
		// As in Acquire.
	}
}
