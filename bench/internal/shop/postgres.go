// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package shop

import (
	"bytes"
	"fmt"
)

// Script has psql make the table of orders, and lets the role read it.
func (o Orders) Script(role string) []byte {
	var b bytes.Buffer
	b.WriteString(`CREATE TABLE orders (
  id integer PRIMARY KEY, customer_id integer NOT NULL, placed_at text NOT NULL, status text NOT NULL, total integer NOT NULL
);
COPY orders FROM stdin;
`)
	for _, r := range o {
		fmt.Fprintf(&b, "%d\t%d\t%s\t%s\t%d\n", r.ID, r.Customer, r.Placed, r.Status, r.Total)
	}
	fmt.Fprintf(&b, "\\.\nVACUUM ANALYZE orders;\nGRANT SELECT ON orders TO %s;\n", role)
	return b.Bytes()
}
