//go:build !linux

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package cgroup

import "errors"

var errNone = errors.New("only Linux has cgroups")

// Tree is nothing here, and Group neither.
type (
	Tree  struct{}
	Group struct{}
)

// Look finds none.
func Look() (*Tree, error) { return nil, errNone }

// Divide does nothing.
func (*Tree) Divide() error { return errNone }

// Sweep does nothing.
func (*Tree) Sweep() {}

// Group makes none.
func (*Tree) Group(string, Limits) (*Group, error) { return nil, errNone }

// End does nothing.
func (*Group) End() error { return nil }
