// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

// alive cannot be told cheaply here; nothing is swept.
func alive(int) bool { return true }

func isOwn(string) bool { return false }
