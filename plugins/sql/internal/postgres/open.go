// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"

	"github.com/toolwharf/toolwharf/plugins/sql/internal/postgres/guard"
)

// Open connects to the database of a DSN and guards it. Errors are *OpenError or
// the context's, and hold nothing of the DSN.
func Open(ctx context.Context, dsn string, o Options) (*DB, error) {
	guard.Warm()
	return openWith(ctx, dsn, o, func(d *DB) guards {
		return func(k known) (judge, error) {
			g, err := guard.New(guard.Policy{
				Tables: d.tables, All: d.all, DefaultSchema: d.schema,
				Functions: o.Functions, Strip: o.Strip,
				RowFunctions: k.RowFunctions, Columns: k.Columns,
				UserFunctions: k.UserFunctions, UserOperators: k.UserOperators,
			})
			if err != nil {
				return nil, &OpenError{Summary: "an entry of allowed_functions cannot be read", Detail: err.Error()}
			}
			return g, nil
		}
	})
}
