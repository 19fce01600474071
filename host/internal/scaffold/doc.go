// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package scaffold makes the project of a new plugin.
//
// The template is a working plugin named greeter, in the folder _go: only its
// name is replaced. Its go.mod is made here, since the SDK that it is built with
// may lie in a checkout of this repository.
package scaffold
