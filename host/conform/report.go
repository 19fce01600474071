// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Status is the outcome of one check.
type Status string

// The outcomes.
const (
	OK     Status = "ok"
	Failed Status = "failed"
	NotRun Status = "not_run"
)

// Finding is what one check found.
type Finding struct {
	// Check is the check's id, "group/name".
	Check string `json:"check"`
	// Title is one line about what is asked.
	Title  string `json:"title"`
	Status Status `json:"status"`
	// Reason says why it failed or was not run, and what can be done about it.
	Reason string `json:"reason,omitempty"`
}

// Report is all that was found, in the order of the checks.
type Report struct {
	// Path is what was judged.
	Path string `json:"path"`
	// Name and Version are the plugin's own, empty if it did not say them.
	Name     string    `json:"name,omitempty"`
	Version  string    `json:"version,omitempty"`
	Findings []Finding `json:"findings"`
}

// Count returns how many checks ended so.
func (r *Report) Count(s Status) int {
	n := 0
	for _, f := range r.Findings {
		if f.Status == s {
			n++
		}
	}
	return n
}

// Text writes the report for people: one line for each check, by group.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", r.Path)
	if r.Name != "" {
		fmt.Fprintf(&b, " (%s)", strings.TrimSpace(r.Name+" "+r.Version))
	}
	b.WriteString("\n")
	group := ""
	for _, f := range r.Findings {
		head, name, _ := strings.Cut(f.Check, "/")
		if head != group {
			group = head
			fmt.Fprintf(&b, "\n%s\n", group)
		}
		fmt.Fprintf(&b, "  %-7s  %-16s %s\n", strings.ReplaceAll(string(f.Status), "_", " "), name, f.Title)
		if f.Reason != "" {
			fmt.Fprintf(&b, "           %-16s -> %s\n", "", shown(f.Reason))
		}
	}
	fmt.Fprintf(&b, "\n%d ok, %d failed, %d not run\n", r.Count(OK), r.Count(Failed), r.Count(NotRun))
	_, err := io.WriteString(w, b.String())
	return err
}

// maxReason bounds what is told of one finding, in bytes: plugins may say much.
const maxReason = 2 << 10

// shown is what a plugin said, in one line that does nothing to a terminal.
func shown(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) > maxReason {
		s = strings.ToValidUTF8(s[:maxReason], "") + "..."
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return '\uFFFD'
		}
		return r
	}, strings.TrimSpace(s))
}
