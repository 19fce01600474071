// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package doctor looks at the machine for what a host needs of it. It changes
// nothing.
package doctor

import "fmt"

// State is how a check ended.
type State string

// The states.
const (
	OK State = "ok"
	// Warn: it works, and somebody should know.
	Warn State = "warn"
	// Fail: something does not work, or is not safe.
	Fail State = "fail"
)

// Check is one thing that was looked at.
type Check struct {
	Name  string `json:"check"`
	State State  `json:"state"`
	// Text is what was found, Do what to do about it; empty if OK.
	Text string `json:"text"`
	Do   string `json:"do,omitempty"`
}

// Passed is a check with nothing to complain about.
func Passed(name, format string, args ...any) Check {
	return Check{Name: name, State: OK, Text: fmt.Sprintf(format, args...)}
}

// Warned is a check that somebody should know of.
func Warned(name, do, format string, args ...any) Check {
	return Check{Name: name, State: Warn, Do: do, Text: fmt.Sprintf(format, args...)}
}

// Failed is a check that did not pass.
func Failed(name, do, format string, args ...any) Check {
	return Check{Name: name, State: Fail, Do: do, Text: fmt.Sprintf(format, args...)}
}
