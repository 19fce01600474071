// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"errors"
	"sync"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// ConfigError is one fault of a configuration. The function that opens or
// checks may return several, joined by errors.Join: the operator sees all of
// them at once, each at its place.
type ConfigError struct {
	// Pointer is an RFC 6901 pointer into the configuration: "/tables/0". Empty:
	// the whole of it.
	Pointer string
	// Summary is one sentence: what is wrong. Never a secret.
	Summary string
	// Detail says what to do about it. Never a secret.
	Detail string
}

// ConfigFault is a fault of the configuration at an RFC 6901 pointer.
func ConfigFault(pointer, summary string) *ConfigError {
	return &ConfigError{Pointer: pointer, Summary: summary}
}

// Error is "pointer: summary: detail".
func (e *ConfigError) Error() string {
	s := e.Summary
	if e.Pointer != "" {
		s = e.Pointer + ": " + s
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// ConfigWarning tells the operator something about a configuration that is
// accepted all the same. It works in the functions that open and check.
func ConfigWarning(ctx context.Context, pointer, summary string) {
	if w, ok := ctx.Value(warningKey{}).(*warnings); ok {
		w.add(&ConfigError{Pointer: pointer, Summary: summary})
	}
}

type warnings struct {
	mu   sync.Mutex
	list []*pluginv1.Diagnostic
}

func (w *warnings) add(e *ConfigError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, e.diagnostic(pluginv1.Severity_SEVERITY_WARNING))
}

func (w *warnings) take() []*pluginv1.Diagnostic {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.list
}

func (e *ConfigError) diagnostic(s pluginv1.Severity) *pluginv1.Diagnostic {
	return &pluginv1.Diagnostic{Severity: s, Pointer: valid(e.Pointer), Summary: valid(e.Summary), Detail: valid(e.Detail)}
}

// diagnostics makes one diagnostic of each *ConfigError in the tree of err, and
// one of each other error that was joined, at "".
func diagnostics(err error) []*pluginv1.Diagnostic {
	faults := faultsIn(err)
	list := make([]*pluginv1.Diagnostic, 0, len(faults))
	for _, fault := range faults {
		list = append(list, fault.diagnostic(pluginv1.Severity_SEVERITY_ERROR))
	}
	return list
}

// faultsIn walks the tree by hand: errors.As would stop at the first of several.
func faultsIn(err error) []*ConfigError {
	var inner []*ConfigError
	switch e := err.(type) { //nolint:errorlint // see above
	case nil:
		return nil
	case *ConfigError:
		return []*ConfigError{e}
	case interface{ Unwrap() []error }:
		for _, joined := range e.Unwrap() {
			inner = append(inner, faultsIn(joined)...)
		}
		return inner
	case interface{ Unwrap() error }:
		inner = faultsIn(e.Unwrap())
	}
	if _, ok := errors.AsType[*ConfigError](err); ok {
		return inner // what wraps them says less than they do
	}
	return []*ConfigError{{Summary: err.Error()}}
}
