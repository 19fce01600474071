// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import "fmt"

// Registry is what tools, resources and prompts are added to: a [Plugin] before it
// serves, or the [Changes] of what a running one offers.
type Registry[S any] interface{ registry(state *S) *registry }

// registry collects what is added, and every fault of it.
type registry struct {
	into   *catalogue
	faults []error
}

func (p *Plugin[S]) registry(*S) *registry { return &p.core.registry }

// fault notes a mistake of the plugin's author.
func (r *registry) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf(format, args...))
}

// faulter notes the mistakes of one thing that is added.
func (r *registry) faulter(what, name string) func(string, ...any) {
	return func(format string, args ...any) {
		r.fault(what+" %.128q: "+format, append([]any{name}, args...)...)
	}
}
