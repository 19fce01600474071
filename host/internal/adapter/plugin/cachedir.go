// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Bounds of what one adapter may keep in its cache directory. Beyond, it is
// emptied.
const (
	MaxCache      = 256 << 20 // bytes
	maxCacheFiles = 10_000
	// cacheEvery is how often that is looked at while the adapter runs.
	cacheEvery = time.Minute
)

var errCacheFull = errors.New("too much in the cache directory")

// cacheDir makes the directory in which an adapter may keep what it can make
// again, and empties it if it holds too much; "" if there is to be none. A user of
// its own cannot enter the state directory: its cache lasts as long as the host.
func (l *Launcher) cacheDir(adapter string, c *cage) (string, error) {
	if l.CacheDir == "" {
		return "", nil
	}
	under := l.CacheDir
	if c != nil && c.account != nil {
		under = filepath.Join(l.RunDir, "cache")
		if err := os.Mkdir(under, 0o711); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // each enters its own
			return "", err
		}
	}
	dir := filepath.Join(under, adapter)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if err := l.trim(adapter, dir); err != nil {
		return "", err
	}
	if c == nil {
		return dir, nil
	}
	return dir, c.own(dir)
}

// trim empties the cache directory of an adapter if it holds too much. Links in
// it lead nowhere from here.
func (l *Launcher) trim(adapter, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if !overfull(root.FS()) {
		return nil
	}
	l.Log.Warn("cache directory emptied: it held too much", "adapter", adapter, "bytes", MaxCache, "files", maxCacheFiles)
	top, err := fs.ReadDir(root.FS(), ".")
	for _, e := range top {
		err = errors.Join(err, root.RemoveAll(e.Name()))
	}
	return err
}

func overfull(dir fs.FS) bool {
	size, files := int64(0), 0
	err := fs.WalkDir(dir, ".", func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it went meanwhile, or is not to be read: RemoveAll will say
		}
		if files++; files > maxCacheFiles {
			return errCacheFull
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		if size > MaxCache {
			return errCacheFull
		}
		return nil
	})
	return errors.Is(err, errCacheFull)
}

// keepTrim trims now and then, until the instance ends.
func (l *Launcher) keepTrim(in *instance) {
	tick := time.NewTicker(cacheEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if err := l.trim(in.name, in.cacheDir); err != nil {
				l.Log.Warn("cache directory not looked at", "adapter", in.name, "error", err)
			}
		case <-in.process.Done():
			return
		}
	}
}
