// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package grant

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Bounds of what is remembered.
const (
	maxRemembered = 1000
	maxBytes      = 4 << 20
)

// Memory remembers what plugins have asked for, by the keyed digest of program and
// configuration: neither a secret nor a path can be guessed from a key, and who
// writes the file could write the configuration too. A zero Memory has no file.
type Memory struct {
	// File is where it lies; "": only in this process.
	File string

	mu    sync.Mutex
	known map[string][]adapter.Grant
}

// Asked returns what was asked for under a key.
func (m *Memory) Asked(key tool.Digest) (asked []adapter.Grant, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.load()
	asked, known = m.known[key.String()]
	return asked, known
}

// Remember keeps what was asked for.
func (m *Memory) Remember(key tool.Digest, asked []adapter.Grant) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.File != "" {
		m.known = nil // another host may have written meanwhile
	}
	m.load()
	for old := range m.known { // any: it is asked for again
		if len(m.known) < maxRemembered {
			break
		}
		delete(m.known, old)
	}
	m.known[key.String()] = asked
	if m.File == "" {
		return nil
	}
	text, err := json.Marshal(m.known)
	if err != nil {
		return err
	}
	return replace(m.File, text)
}

// load reads the file once. One that is not to be read is as good as none.
func (m *Memory) load() {
	if m.known != nil {
		return
	}
	m.known = map[string][]adapter.Grant{}
	if m.File == "" {
		return
	}
	f, err := os.Open(m.File)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxBytes))
	if err != nil {
		return
	}
	var known map[string][]adapter.Grant
	if json.Unmarshal(text, &known) == nil && known != nil {
		m.known = known
	}
}

// replace puts a new file in the place of the old one.
func replace(file string, text []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".grants-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		if gone := os.Remove(f.Name()); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}
