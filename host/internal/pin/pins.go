// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package pin

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Pins are a lock as a running host holds to it: only what it names runs and is
// offered, and nothing is learned. It is safe for concurrent use.
type Pins struct {
	path  string
	trust func(path string) error

	mu    sync.Mutex
	lock  *Lock // nil: none was read yet
	fault error // of the newest file
}

// NewPins reads the lock of a path. trust says whether somebody else could
// write a file.
func NewPins(path string, trust func(path string) error) *Pins {
	p := &Pins{path: path, trust: trust}
	p.Reread()
	return p
}

// Fixed are pins of a lock that is not in a file.
func Fixed(l *Lock) *Pins { return &Pins{lock: l} }

// Reread reads the lock again. One that cannot be read leaves the one before in
// place, but one that is gone names nothing.
func (p *Pins) Reread() {
	lock, err := Read(p.path)
	if err == nil {
		err = p.trust(p.path)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = err
	switch {
	case err == nil:
		p.lock = lock
	case errors.Is(err, fs.ErrNotExist):
		p.lock, p.fault = nil, fmt.Errorf("there is no %s", p.path)
	}
}

// Fault is why the newest lock does not count; nil: it does.
func (p *Pins) Fault() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fault
}

// Program is the hash that a program must have; otherwise why it may not run.
func (p *Pins) Program(plugin string, folder bool) (hash tool.Digest, refused string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lock == nil {
		return tool.Digest{}, fmt.Sprintf("only pinned plugins run: %v; run `toolwharf plugins pin`", p.fault)
	}
	switch pinned, ok := p.lock.Plugins[plugin]; {
	case !ok:
		return tool.Digest{}, fmt.Sprintf("plugin %s is not pinned; look at it and run `toolwharf plugins pin %s`", plugin, plugin)
	case pinned.Folder != folder:
		now := Program{Folder: folder}
		return tool.Digest{}, fmt.Sprintf("plugin %s is pinned as %s and is now %s; look at it and run `toolwharf plugins pin %s`",
			plugin, pinned.Kind(), now.Kind(), plugin)
	default:
		return pinned.Hash, ""
	}
}

// maxNotes of one adapter.
const maxNotes = 20

// Review returns the tools of an adapter that are exactly as pinned, and says
// of the others why they are not offered.
func (p *Pins) Review(adapter string, tools []tool.Spec) (fit []tool.Spec, notes []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var pinned Tools
	if p.lock != nil {
		pinned = p.lock.Adapters[adapter]
	}
	held := 0
	for _, spec := range tools {
		now := Of(spec)
		before, known := pinned[spec.Declared]
		if known && before == now {
			fit = append(fit, spec)
			continue
		}
		if held++; held > maxNotes {
			continue
		}
		if !known {
			notes = append(notes, fmt.Sprintf("tool %.128q is not offered: it is not pinned (%s)", spec.Declared, now.Claims()))
			continue
		}
		notes = append(notes, fmt.Sprintf("tool %s is not offered: it is not as pinned: %s", spec.Declared, before.Changes(now)))
	}
	if held > maxNotes {
		notes = append(notes, fmt.Sprintf("and %d tools more", held-maxNotes))
	}
	if held > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d tools are held back until `toolwharf plugins pin %s`", held, len(tools), adapter))
	}
	return fit, notes, nil
}
