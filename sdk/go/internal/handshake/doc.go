// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package handshake is the plugin's side of hashicorp/go-plugin's start: what
// the host says in the environment, mutual TLS, where to listen, and the one
// line on stdout. The plugin serves gRPC by itself; go-plugin is not needed.
package handshake
