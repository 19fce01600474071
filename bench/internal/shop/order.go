// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package shop

import (
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"
)

// Order is one row, of the columns that are asked for.
type Order struct {
	ID, Customer int64
	Placed       string
	Status       string
	Total        int64
}

// columns are those of an order, as they are asked for.
const columns = "id, customer_id, placed_at, status, total"

// Orders are all of a shop's, in no order that matters.
type Orders []Order

// Read reads the orders of a shop's SQLite file by other means than any of the
// servers that are measured: from its own copy of SQLite.
func Read(file string) (orders Orders, err error) {
	db, err := sqlite3.OpenFlags(file, sqlite3.OPEN_READONLY)
	if err != nil {
		return nil, fmt.Errorf("shop %s: %w", file, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, _, err := db.Prepare("SELECT " + columns + " FROM orders")
	if err != nil {
		return nil, fmt.Errorf("shop %s: %w", file, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Step() {
		orders = append(orders, Order{
			rows.ColumnInt64(0), rows.ColumnInt64(1), rows.ColumnText(2), rows.ColumnText(3), rows.ColumnInt64(4),
		})
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("shop %s: %w", file, err)
	}
	if len(orders) == 0 {
		return nil, fmt.Errorf("shop %s: no orders", file)
	}
	return orders, nil
}

// of is the order that the call of this id asks for: spread over all of them, so
// that neighbours in time are none on the disk.
func (o Orders) of(id int64) Order {
	const golden = 0x9E3779B97F4A7C15
	return o[uint64(id)*golden>>33%uint64(len(o))] //nolint:gosec // to be wrapped around
}
