// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package account

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxBytes bounds the record of some hundred names.
const maxBytes = 1 << 20

// load reads the record: another host may have written it meanwhile. One that is
// there and says nothing is an error: a user may have files, and is not to be
// given to somebody else.
func (b *Book) load() error {
	if b.File == "" {
		if b.known == nil {
			b.known = map[string]int{}
		}
		return nil
	}
	b.known = map[string]int{}
	f, err := os.Open(b.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxBytes))
	if err == nil {
		b.known, err = parse(text)
	}
	if err != nil {
		return fmt.Errorf("%s is not a record of the users of adapters: %w; remove it, and they get new ones", b.File, err)
	}
	return nil
}

// parse reads a record.
func parse(text []byte) (map[string]int, error) {
	var known map[string]int
	if err := json.Unmarshal(text, &known); err != nil {
		return nil, err
	}
	if known == nil {
		return nil, errors.New("it is null")
	}
	whose := map[int]string{}
	for name, id := range known {
		if id < First || id > Last {
			return nil, fmt.Errorf("%q has %d, which is not between %d and %d", name, id, First, Last)
		}
		if other, two := whose[id]; two {
			return nil, fmt.Errorf("%q and %q have %d", name, other, id)
		}
		whose[id] = name
	}
	return known, nil
}

// save puts a new record in the place of the old one.
func (b *Book) save() error {
	if b.File == "" {
		return nil
	}
	text, err := json.Marshal(b.known)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(b.File), ".users-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), b.File)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
