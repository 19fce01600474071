// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"encoding/json"
	"time"
)

// Options say what is judged, and by what.
type Options struct {
	// Path is the plugin: an executable, or a folder with a plugin.yaml.
	Path string
	// Config is the plugin's configuration, one JSON object with its secrets
	// filled in. Nil: none was given; what needs one is then not run, unless the
	// plugin takes an empty one.
	Config json.RawMessage
	// Secrets are values that the plugin must not tell, beside those at the
	// writeOnly places of Config.
	Secrets []string
	// Dir is the directory that the plugin runs in; empty: the current one.
	Dir string
	// Env is the plugin's own environment; the host's is not handed on.
	Env map[string]string
	// Examples are calls that are known to succeed, and slow ones.
	Examples Examples
	// CallAll: tools with effects are called like those that only read.
	CallAll bool
	// Only, if not empty, are the checks that are run: ids, or groups.
	Only []string

	bounds *bounds // nil: the usual ones
}

// Examples are calls that only the plugin's author can know.
type Examples struct {
	// Calls are arguments, by tool, that must come to a result.
	Calls map[string][]json.RawMessage `json:"calls"`
	// Slow are arguments, by tool, of calls that take a minute or more unless
	// they are interrupted.
	Slow map[string]json.RawMessage `json:"slow"`
}

// bounds are how long a plugin may take.
type bounds struct {
	start    time.Duration // to the handshake; the host's own
	exit     time.Duration // to give up when it is started wrongly
	call     time.Duration // to answer
	heed     time.Duration // to end a call whose time is over
	shutdown time.Duration // to end when asked; then the host kills it
	orphan   time.Duration // to end when the host is gone
}

var usual = bounds{
	start: 10 * time.Second, exit: 5 * time.Second, call: 10 * time.Second,
	heed: 3 * time.Second, shutdown: 2 * time.Second, orphan: 10 * time.Second,
}
