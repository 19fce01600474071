// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strconv"
	"strings"
)

// Header is what all results of one prepared statement have in common. It is
// made once and read by many.
type Header struct {
	columns []column
	head    []byte // {"columns":[...],"rows":[
	reserve int    // bytes kept for what follows the rows
	renamed bool
}

type column struct {
	original string
	key      []byte // "name":
}

// Room for row_count, truncated, truncated_by, the warnings, and for each
// column its entry in columns_meta without the name.
const (
	reserveResult = 512
	reserveColumn = 48
)

// NewHeader makes the header of a statement with these column names, as the
// database gives them.
func NewHeader(names []string) *Header {
	h := &Header{columns: make([]column, len(names)), reserve: reserveResult}
	h.head = append(h.head, `{"columns":[`...)
	unique := UniqueNames(names)
	for i, name := range names {
		quoted := appendString(nil, unique[i])
		if i > 0 {
			h.head = append(h.head, ',')
		}
		h.head = append(h.head, quoted...)
		original := strings.ToValidUTF8(name, "\uFFFD")
		h.columns[i] = column{original: original, key: append(quoted, ':')}
		h.reserve += len(appendString(nil, original)) + reserveColumn
		h.renamed = h.renamed || unique[i] != original
	}
	h.head = append(h.head, headRows...)
	return h
}

// Columns is how many columns there are.
func (h *Header) Columns() int { return len(h.columns) }

// UniqueNames makes column names into keys of one object. The first of equal
// names stays; later ones get _2, _3 and so on, whichever no column has. Twice
// id with an id_2 behind it become id, id_3 and id_2.
func UniqueNames(names []string) []string {
	unique := make([]string, len(names))
	taken := make(map[string]bool, len(names))
	for i, name := range names {
		unique[i] = strings.ToValidUTF8(name, "\uFFFD")
		taken[unique[i]] = true
	}
	seen := make(map[string]int, len(names))
	for i, name := range unique {
		n := seen[name]
		if n == 0 {
			seen[name] = 1
			continue
		}
		candidate := name
		for taken[candidate] {
			n++
			candidate = name + "_" + strconv.Itoa(n)
		}
		seen[name], taken[candidate] = n, true
		unique[i] = candidate
	}
	return unique
}
