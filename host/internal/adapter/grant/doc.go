// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package grant decides what a plugin may reach outside its own process: what it
// asks for and its configuration names, and what the operator allows by name. What
// the host lives by is never given away.
package grant
