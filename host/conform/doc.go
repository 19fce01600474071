// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package conform is the conformance kit: it judges a plugin of any language as
// a black box, by what its processes do and say. It starts the plugin as a host
// would, several times over, and talks to it over the wire.
//
//	report, err := conform.Run(ctx, conform.Options{Path: "./hello"})
//
// Each check has a stable id, "group/name". A check that cannot judge, for
// example because the plugin needs a configuration that was not given, is
// reported as not run, with the reason; it is no failure.
//
// By default only tools that are read_only are called with arguments that are
// good; the others get arguments that cannot be read at all.
package conform
