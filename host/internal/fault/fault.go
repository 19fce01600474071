// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"strconv"
	"strings"
)

// Fault is one thing that is wrong with a file. Its texts never hold a secret:
// they end up in logs, terminals and /readyz.
type Fault struct {
	// File is the file as its user named it; empty when there is none.
	File string `json:"file,omitempty"`
	// Path is the key path, such as adapters.orders.config.dsn. Empty: the
	// whole file.
	Path string `json:"path,omitempty"`
	// Line and Column count from 1; 0 is unknown. Columns count characters.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Summary is what is wrong, without a full stop.
	Summary string `json:"summary"`
	// Detail is what to do about it; may be empty.
	Detail string `json:"detail,omitempty"`
	// Warning marks a remark that refuses nothing.
	Warning bool `json:"warning,omitempty"`
}

// String is the fault on one line, in the form that editors and terminals
// make clickable: file:line:column: path: summary: detail.
func (f Fault) String() string {
	var b strings.Builder
	b.WriteString(f.File)
	for _, n := range []int{f.Line, f.Column} {
		if n <= 0 {
			break
		}
		if b.Len() > 0 {
			b.WriteByte(':')
		}
		b.WriteString(strconv.Itoa(n))
	}
	severity := ""
	if f.Warning {
		severity = "warning"
	}
	for _, part := range []string{severity, f.Path, f.Summary, f.Detail} {
		if part == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(part)
	}
	return b.String()
}
