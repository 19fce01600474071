// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package sqlite

// guard has nothing to do: the directory's access list holds for what is made in
// it.
func guard(string) error { return nil }

// syncDir has nothing to do: names are durable by themselves.
func syncDir(string) error { return nil }
