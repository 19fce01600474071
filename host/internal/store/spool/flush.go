// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/executor"
)

// flush gives the store everything that waits: what dead hosts have left, then
// what this one has spooled, each in the order in which it came. An error means
// that something still waits. ctx bounds waiting for another flush only: a row
// is given to the end, since one that is half given could come twice.
func (j *Journal) flush(ctx context.Context) error {
	select {
	case j.flushing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-j.flushing }()
	ctx = context.WithoutCancel(ctx)
	files, err := j.files(ctx)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := j.flushFile(ctx, f); err != nil {
			return err
		}
	}
	return j.flushHeld(ctx)
}

// file is one with rows for the store.
type file struct{ host, name string }

// files returns the files to be flushed, after moving away those that are being
// written: what comes from now on goes to new ones.
func (j *Journal) files(ctx context.Context) ([]file, error) {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		return nil, err
	}
	ours := map[string]bool{j.host: true}
	var files []file
	for _, e := range entries { // sorted, so those on their way by time
		host, rest, ok := strings.Cut(e.Name(), ".")
		rest = "." + rest
		if !ok || (rest != suffixRows && !strings.HasSuffix(rest, suffixFlush)) {
			continue
		}
		if _, known := ours[host]; !known {
			if ours[host], err = j.dead(ctx, host); err != nil {
				return nil, err
			}
		}
		if ours[host] {
			files = append(files, file{host, e.Name()})
		}
	}
	// Files on their way are older than the one that is being written.
	slices.SortStableFunc(files, func(a, b file) int {
		return rank(a, j.host) - rank(b, j.host)
	})
	return files, nil
}

// rank orders files: this host's own come last, and so do those being written.
func rank(f file, own string) (n int) {
	if strings.HasSuffix(f.name, suffixRows) {
		n++
	}
	if f.host == own {
		n += 2
	}
	return n
}

func (j *Journal) dead(ctx context.Context, host string) (bool, error) {
	if j.alive == nil {
		return false, nil
	}
	alive, err := j.alive(ctx, host)
	if err != nil {
		return false, fmt.Errorf("whether host %s is alive: %w", host, err)
	}
	return !alive, nil
}

// flushFile gives the rows of a file to the store, and removes it.
func (j *Journal) flushFile(ctx context.Context, f file) error {
	path := filepath.Join(j.dir, f.name)
	if strings.HasSuffix(f.name, suffixRows) {
		moved := filepath.Join(j.dir, fmt.Sprintf("%s.%020d%s", f.host, time.Now().UnixNano(), suffixFlush))
		if err := os.Rename(path, moved); err != nil {
			return gone(err)
		}
		path = moved
	}
	c, err := readFile(path)
	if err != nil {
		return gone(err)
	}
	for _, l := range c.rows {
		if err := j.give(ctx, l); err != nil {
			return err
		}
	}
	if len(c.bad) > 0 {
		j.log.Error("the spool has lines that are no rows; they are kept beside it",
			"host", f.host, "lines", len(c.bad), "torn", c.torn)
	}
	if err := keepBad(filepath.Join(j.dir, f.host+suffixBad), c.bad); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return gone(err)
	}
	if len(c.rows) > 0 {
		j.log.Info("spooled rows are in the ledger", "host", f.host, "rows", len(c.rows))
	}
	return syncDir(j.dir)
}

// gone lets a file be that another host has flushed.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (j *Journal) give(ctx context.Context, l line) error {
	if err := j.inner.End(ctx, executor.Record{Row: l.Row, Once: l.ID, Settle: l.Settle}); err != nil {
		return fmt.Errorf("row of %s: %w", l.Row.Call, err)
	}
	return nil
}

// flushHeld gives the store what is only in memory, and looks whether anything
// has come in the meantime.
func (j *Journal) flushHeld(ctx context.Context) error {
	for {
		j.mu.Lock()
		if len(j.held) == 0 {
			_, err := os.Stat(filepath.Join(j.dir, j.host+suffixRows))
			if errors.Is(err, fs.ErrNotExist) {
				j.dirty, err = false, nil
			} else if err == nil {
				err = errors.New("more rows have come")
			}
			j.mu.Unlock()
			return err
		}
		l := j.held[0]
		j.mu.Unlock()
		if err := j.give(ctx, l); err != nil {
			return err
		}
		j.mu.Lock()
		j.held = j.held[1:] // others only append
		j.mu.Unlock()
	}
}
