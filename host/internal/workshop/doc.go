// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package workshop keeps a plugin that is being written built: it builds, puts
// what it has built where a host looks for plugins, and tells when the sources
// have changed.
package workshop
