// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"os"
	"time"
)

// lookEvery is how often a connection looks whether its file is still the one
// at the path: a database that is replaced by renaming another one over it
// would otherwise be read for ever.
const lookEvery = time.Second

// acquire waits for a connection. It must be released.
func (d *DB) acquire(ctx context.Context) (*conn, error) {
	return d.pool.Acquire(ctx, d.limits.ConnectionWait, d.current, d.connect)
}

// current says whether c still reads the file that is at the path.
func (d *DB) current(c *conn) bool {
	if !d.untouched(c) {
		return false
	}
	now := time.Now()
	if now.Sub(c.looked) < lookEvery {
		return true
	}
	c.looked = now
	info, err := os.Stat(d.path)
	return err == nil && os.SameFile(info, c.file)
}
