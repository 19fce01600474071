// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the host as its users meet it: the real program as a
// process of its own, real plugins, real clients.
package e2e
