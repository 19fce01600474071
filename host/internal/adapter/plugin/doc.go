// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package plugin makes a plugin binary an instance of an adapter: it launches
// it through go-plugin, speaks toolwharf.plugin.v1 with it, and turns what is
// said into the words of package tool. Everything that comes from the plugin
// is foreign.
package plugin
