//go:build unix

// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"strings"
	"testing"
)

func TestAGroupIsPrivateIfItHasTheUsersNameAndNoOtherMember(t *testing.T) {
	const groups = "root:x:0:\nann:x:1000:\nbob:x:1001:bob\nstaff:x:50:ann\neve:x:1002:ann,eve\nbroken\n"
	for _, c := range []struct {
		gid, name string
		want      bool
	}{
		{"1000", "ann", true},
		{"1001", "bob", true},
		{"50", "ann", false},
		{"1002", "eve", false},
		{"1000", "bob", false},
		{"7", "ann", false},
	} {
		if got := isPrivate(strings.NewReader(groups), c.gid, c.name); got != c.want {
			t.Errorf("group %s of %s: %v", c.gid, c.name, got)
		}
	}
}
