// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package shop

import (
	"strconv"

	"github.com/toolwharf/toolwharf/bench/internal/rpc"
)

// Statement asks for the order whose id is bound to the marker.
func Statement(marker string) string {
	return "SELECT " + columns + " FROM orders WHERE id = " + marker
}

// Query is the sql plugin's tool query: the statement comes with the call, and the
// id as a parameter of it.
func (o Orders) Query(name, marker string) rpc.Tool {
	head := `{"sql":"` + Statement(marker) + `","params":[`
	return rpc.Tool{
		Name: name, Within: true,
		Arguments: func(dst []byte, id int64) []byte {
			dst = append(dst, head...)
			dst = strconv.AppendInt(dst, o.of(id).ID, 10)
			return append(dst, "]}"...)
		},
		Text: func(dst []byte, id int64) []byte {
			dst = append(dst, `"rows":[`...)
			dst = o.of(id).compact(dst)
			return append(dst, `],"row_count":1,"truncated":false`...)
		},
	}
}

// Fixed is a tool whose statement is configured and whose only argument is the
// id: what MCP Toolbox calls a sqlite-sql or a postgres-sql tool.
func (o Orders) Fixed(name string) rpc.Tool {
	return rpc.Tool{
		Name: name,
		Arguments: func(dst []byte, id int64) []byte {
			dst = append(dst, `{"id":`...)
			dst = strconv.AppendInt(dst, o.of(id).ID, 10)
			return append(dst, '}')
		},
		Text: func(dst []byte, id int64) []byte { return o.of(id).compact(dst) },
	}
}

// ExecuteSQL is dbhub's tool of that name: the statement comes with the call, and
// the id is part of its text, for there are no parameters.
func (o Orders) ExecuteSQL(name string) rpc.Tool {
	head := `{"sql":"` + Statement("")
	return rpc.Tool{
		Name: name, Within: true,
		Arguments: func(dst []byte, id int64) []byte {
			dst = append(dst, head...)
			dst = strconv.AppendInt(dst, o.of(id).ID, 10)
			return append(dst, `"}`...)
		},
		Text: func(dst []byte, id int64) []byte {
			dst = append(dst, "\"rows\": [\n          "...)
			dst = o.of(id).append(dst, "{\n            ", ": ", ",\n            ", "\n          }")
			return append(dst, "\n        ],\n        \"count\": 1\n"...)
		},
	}
}

func (r Order) compact(dst []byte) []byte { return r.append(dst, "{", ":", ",", "}") }

// append writes the order as a JSON object, in the white space of whoever sent it.
func (r Order) append(dst []byte, begin, colon, comma, end string) []byte {
	key := func(before, name string) {
		dst = append(dst, before...)
		dst = append(dst, '"')
		dst = append(dst, name...)
		dst = append(dst, '"')
		dst = append(dst, colon...)
	}
	number := func(n int64) { dst = strconv.AppendInt(dst, n, 10) }
	text := func(s string) { // times and states: nothing to escape
		dst = append(dst, '"')
		dst = append(dst, s...)
		dst = append(dst, '"')
	}
	key(begin, "id")
	number(r.ID)
	key(comma, "customer_id")
	number(r.Customer)
	key(comma, "placed_at")
	text(r.Placed)
	key(comma, "status")
	text(r.Status)
	key(comma, "total")
	number(r.Total)
	return append(dst, end...)
}
