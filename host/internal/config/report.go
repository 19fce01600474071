// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"

	"github.com/toolwharf/toolwharf/host/internal/fault"
)

// maxFaults bounds what a hostile or binary file can make us print.
const maxFaults = 1000

// report collects the faults of one file.
type report struct {
	file string
	list fault.List
	seen map[spot]bool
	more int
}

// spot is where a fault was reported.
type spot struct {
	path string
	at   position
}

// add reports a fault. One place has one fault, the first, which is the most
// basic one: a listen address that is no text need not be told that it has no
// port.
func (r *report) add(f fault.Fault) {
	here := spot{f.Path, position{f.Line, f.Column}}
	if f.Path != "" && r.seen[here] {
		return
	}
	if r.seen == nil {
		r.seen = map[spot]bool{}
	}
	r.seen[here] = true
	if r.full() {
		r.more++
		return
	}
	f.File = r.file
	r.list.Add(f)
}

// full reports whether further faults would only be counted. What is costly to
// find out about a fault need not be found out any more.
func (r *report) full() bool { return len(r.list) >= maxFaults }

// refuse reports an error at a place.
func (r *report) refuse(path string, at position, detail, format string, args ...any) {
	r.add(fault.Fault{Path: path, Line: at.line, Column: at.column, Summary: fmt.Sprintf(format, args...), Detail: detail})
}

// result is the sorted list.
func (r *report) result() fault.List {
	if r.more > 0 {
		r.list.Add(fault.Fault{File: r.file, Summary: fmt.Sprintf("%d further faults are not shown", r.more)})
	}
	return r.list.Sorted()
}
