// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// panicked makes an error of what recover returned. The stack goes to the log,
// which is the operator's.
func panicked(log *slog.Logger, where string, value any) error {
	text := fmt.Sprint(value)
	log.Error("panic in "+where, "panic", text, "stack", string(debug.Stack()))
	return &Error{Kind: KindToolFailed, Code: "panic", Detail: "panic: " + text}
}

// guard runs a function of the author's and makes an error of a panic; the
// error quotes nothing, since it may be shown with a configuration.
func guard(log *slog.Logger, what string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			_ = panicked(log, what, r)
			err = fmt.Errorf("the plugin panicked in %s: its log has the stack", what)
		}
	}()
	return f()
}
