// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package reconcile

import "slices"

// maxSecrets of one adapter are remembered at once.
const maxSecrets = 256

// secrets are what the redactor was told of an adapter.
type secrets struct {
	// now are those of the newest configuration; all are also those before,
	// the newest first.
	now, all []string
}

// tell tells the redactor of an adapter's secrets, before they are given to it.
// Those of the configurations before stay with them: their process serves on
// until the new one does, or for good if that does not start; and one that was
// changed since is not to be read in the ledger either.
func (r *Reconciler) tell(name string, now []string) {
	if r.config.Tell == nil {
		return
	}
	now = slices.Compact(slices.Sorted(slices.Values(now)))
	r.mu.Lock()
	defer r.mu.Unlock()
	was, known := r.told[name]
	if known && slices.Equal(was.now, now) {
		return
	}
	all := slices.Clone(now)
	for _, s := range was.all {
		if len(all) < maxSecrets && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	r.told[name] = secrets{now: now, all: all}
	r.config.Tell(name, slices.Clone(all))
}

// forget says that nothing of an adapter is left. r.mu is held.
func (r *Reconciler) forget(name string) {
	if _, known := r.told[name]; known {
		delete(r.told, name)
		r.config.Tell(name, nil)
	}
}
