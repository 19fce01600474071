// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"time"
)

// lifetime is how long a connection is used. A new one also learns what the
// guard has to know of the schema.
const lifetime = 5 * time.Minute

// acquire waits for a connection. It must be released.
func (d *DB) acquire(ctx context.Context) (*conn, error) {
	return d.pool.Acquire(ctx, d.limits.ConnectionWait, func(c *conn) bool { return time.Since(c.born) < lifetime }, d.connect)
}
