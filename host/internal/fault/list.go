// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// List is any number of faults. The zero List is empty and ready for use.
// Everything that a List shows is sorted by file, then line, then column; faults
// without a line come first, since they are about the whole file.
type List []Fault //nolint:errname,recvcheck // an error only when Err says so; Add alone changes it

var (
	_ error          = List(nil)
	_ json.Marshaler = List(nil)
)

// Add appends faults.
func (l *List) Add(faults ...Fault) { *l = append(*l, faults...) }

// Addf appends an error about path whose summary is formatted.
func (l *List) Addf(path string, line, column int, format string, args ...any) {
	l.Add(Fault{Path: path, Line: line, Column: column, Summary: fmt.Sprintf(format, args...)})
}

// Sorted is a sorted copy.
func (l List) Sorted() List {
	out := slices.Clone(l)
	slices.SortStableFunc(out, func(a, b Fault) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Summary, b.Summary),
		)
	})
	return out
}

// Errors are the faults that refuse the file, sorted.
func (l List) Errors() List { return l.pick(false) }

// Warnings are the faults that refuse nothing, sorted.
func (l List) Warnings() List { return l.pick(true) }

func (l List) pick(warning bool) List {
	var out List
	for _, f := range l.Sorted() {
		if f.Warning == warning {
			out = append(out, f)
		}
	}
	return out
}

// Err is nil when no fault is an error; else the List of those that are.
// Return this, not the List: an empty List in an error variable is not nil.
func (l List) Err() error {
	if errs := l.Errors(); len(errs) > 0 {
		return errs
	}
	return nil
}

// Error is the text form: one fault a line.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, f := range l.Sorted() {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// MarshalJSON is the JSON form: a sorted array of faults, [] when empty.
func (l List) MarshalJSON() ([]byte, error) {
	sorted := []Fault(l.Sorted())
	if sorted == nil {
		sorted = []Fault{}
	}
	return json.Marshal(sorted)
}
