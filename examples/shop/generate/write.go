// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// schema of the shop. Amounts are in cents, times in UTC (RFC 3339).
const schema = `
CREATE TABLE customers (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL,
  email   TEXT NOT NULL UNIQUE,
  city    TEXT NOT NULL,
  country TEXT NOT NULL,
  since   TEXT NOT NULL
);
CREATE TABLE products (
  id       INTEGER PRIMARY KEY,
  sku      TEXT NOT NULL UNIQUE,
  name     TEXT NOT NULL,
  category TEXT NOT NULL,
  price    INTEGER NOT NULL CHECK (price > 0),
  stock    INTEGER NOT NULL CHECK (stock >= 0)
);
CREATE TABLE orders (
  id          INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers (id),
  placed_at   TEXT NOT NULL,
  status      TEXT NOT NULL CHECK (status IN ('placed', 'shipped', 'delivered', 'returned', 'cancelled')),
  total       INTEGER NOT NULL
);
CREATE TABLE order_lines (
  order_id   INTEGER NOT NULL REFERENCES orders (id),
  product_id INTEGER NOT NULL REFERENCES products (id),
  quantity   INTEGER NOT NULL CHECK (quantity > 0),
  price      INTEGER NOT NULL,
  PRIMARY KEY (order_id, product_id)
) WITHOUT ROWID;
CREATE TABLE reviews (
  id          INTEGER PRIMARY KEY,
  product_id  INTEGER NOT NULL REFERENCES products (id),
  customer_id INTEGER NOT NULL REFERENCES customers (id),
  stars       INTEGER NOT NULL CHECK (stars BETWEEN 1 AND 5),
  body        TEXT NOT NULL,
  written_at  TEXT NOT NULL
);
CREATE TABLE staff_secrets (
  id     INTEGER PRIMARY KEY,
  name   TEXT NOT NULL,
  role   TEXT NOT NULL,
  secret TEXT NOT NULL
);
`

// indexes come last: filling is faster without them.
const indexes = `
CREATE INDEX orders_by_customer ON orders (customer_id);
CREATE INDEX orders_by_time ON orders (placed_at);
CREATE INDEX order_lines_by_product ON order_lines (product_id);
CREATE INDEX products_by_category ON products (category);
CREATE INDEX reviews_by_product ON reviews (product_id);
ANALYZE;
`

// writer inserts rows and counts them; it stops at the first error.
type writer struct {
	db   *sqlite3.Conn
	rows int
	err  error
}

func write(file string, s *shop) (rows int, err error) {
	db, err := sqlite3.Open(file)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", file, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	w := &writer{db: db}
	w.exec("PRAGMA foreign_keys = ON; BEGIN;" + schema)
	w.fill("customers (name, email, city, country, since)", len(s.customers), func(i int) []any {
		c := s.customers[i]
		return []any{c.name, c.email, c.city, c.country, c.since.Format(time.DateOnly)}
	})
	w.fill("products (sku, name, category, price, stock)", len(s.products), func(i int) []any {
		p := s.products[i]
		return []any{p.sku, p.name, p.category, p.cents, p.stock}
	})
	w.fill("orders (customer_id, placed_at, status, total)", len(s.orders), func(i int) []any {
		o, total := s.orders[i], 0
		for _, l := range o.lines {
			total += l.quantity * l.cents
		}
		return []any{o.customer + 1, o.placed.Format(time.RFC3339), o.status, total}
	})
	var lines [][]any
	for i, o := range s.orders {
		for _, l := range o.lines {
			lines = append(lines, []any{i + 1, l.product + 1, l.quantity, l.cents})
		}
	}
	w.fill("order_lines (order_id, product_id, quantity, price)", len(lines), func(i int) []any { return lines[i] })
	w.fill("reviews (product_id, customer_id, stars, body, written_at)", len(s.reviews), func(i int) []any {
		r := s.reviews[i]
		return []any{r.product + 1, r.customer + 1, r.stars, r.text, r.written.Format(time.RFC3339)}
	})
	w.fill("staff_secrets (name, role, secret)", len(s.staff), func(i int) []any {
		m := s.staff[i]
		return []any{m.name, m.role, m.secret}
	})
	w.exec(indexes + "COMMIT;")
	if w.err != nil {
		return 0, fmt.Errorf("fill %s: %w", file, w.err)
	}
	return w.rows, nil
}

func (w *writer) exec(sql string) {
	if w.err == nil {
		w.err = w.db.Exec(sql)
	}
}

// fill inserts n rows into a table with its columns.
func (w *writer) fill(table string, n int, row func(i int) []any) {
	if w.err != nil || n == 0 {
		return
	}
	sql := "INSERT INTO " + table + " VALUES (?" + strings.Repeat(", ?", len(row(0))-1) + ")"
	stmt, _, err := w.db.Prepare(sql)
	if err != nil {
		w.err = err
		return
	}
	defer func() { w.err = errors.Join(w.err, stmt.Close()) }()
	for i := range n {
		for column, v := range row(i) {
			switch v := v.(type) {
			case int:
				err = stmt.BindInt(column+1, v)
			case string:
				err = stmt.BindText(column+1, v)
			default:
				err = fmt.Errorf("a value of type %T", v)
			}
			if err != nil {
				w.err = err
				return
			}
		}
		if w.err = stmt.Exec(); w.err != nil {
			return
		}
		w.rows++
	}
}
