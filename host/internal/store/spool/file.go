// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Names of files after the host's.
const (
	suffixRows  = ".jsonl"
	suffixFlush = ".flush"
	suffixBad   = ".bad"
)

// append writes a line to this host's file and syncs it. Another host that takes
// this one for dead may have moved the file in the meantime and be done with it:
// then the line is written again, and the store sees to it that it counts once.
func (j *Journal) append(l line) error {
	raw, err := l.marshal()
	if err != nil {
		return err
	}
	path := filepath.Join(j.dir, j.host+suffixRows)
	for {
		there, err := appendTo(path, raw)
		if err != nil || there {
			return err
		}
	}
}

func (l line) marshal() ([]byte, error) {
	raw, err := json.Marshal(l) //nolint:musttag // see line
	return append(raw, '\n'), err
}

// appendTo appends to the file at path and reports whether it is still there.
// What an earlier failure has left of a line gets an end of its own; what this
// one leaves is taken back.
func appendTo(path string, raw []byte) (there bool, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	was, err := f.Stat()
	if err != nil {
		return false, err
	}
	size := was.Size()
	if size > 0 {
		var end [1]byte
		if _, err := f.ReadAt(end[:], size-1); err != nil {
			return false, err
		}
		if end[0] != '\n' {
			raw = append([]byte("\n"), raw...)
		}
	}
	_, err = f.Write(raw)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return false, errors.Join(err, f.Truncate(size))
	}
	if size == 0 {
		if err := syncDir(filepath.Dir(path)); err != nil {
			return false, err
		}
	}
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(was, now), err
}

// content is what a file has: rows, and what is none.
type content struct {
	rows []line
	bad  [][]byte
	torn bool // the last line has no end
}

func readFile(path string) (c content, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return content{}, err
	}
	c.torn = len(raw) > 0 && raw[len(raw)-1] != '\n'
	for text := range bytes.Lines(raw) {
		text = bytes.TrimSuffix(text, []byte("\n"))
		if len(text) == 0 {
			continue
		}
		var l line
		if json.Unmarshal(text, &l) != nil || l.ID == "" { //nolint:musttag // see line
			c.bad = append(c.bad, text)
			continue
		}
		c.rows = append(c.rows, l)
	}
	return c, nil
}

// keepBad keeps lines that are none where people find them.
func keepBad(path string, lines [][]byte) error {
	if len(lines) == 0 {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, string(bytes.Join(lines, []byte("\n")))+"\n")
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("keeping lines that are no rows: %w", err)
	}
	return nil
}
