// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import "testing"

func TestGlobsMatchWhatTheyName(t *testing.T) {
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"orders_*", "orders_query", true},
		{"orders_*", "shop_query", false},
		{"orders_{query,tables}", "orders_tables", true},
		{"orders_[a-q]*", "orders_query", true},
		{"*", "orders_query", true},
		{"*", "resources:file:///docs/a/b.txt", true},
		{"*", "prompts:orders_report", true},
		{"**", "orders_query", true},
		{"resources:file:///docs/**", "resources:file:///docs/a/b.txt", true},
		{"resources:file:///docs/*", "resources:file:///docs/a.txt", true},
		{"resources:file:///docs/*", "resources:file:///docs/a/b.txt", false},
		{"resources:file:///docs/**", "resources:file:///other/a.txt", false},
		{"resources:file:///docs/**", "resources:file:///docs/{+path}", true},
		{"resources:**", "resources:note://1", true},
		{"resources:**", "orders_resources", false},
		{"prompts:*", "prompts:orders_report", true},
		{"prompts:*", "orders_report", false},
		{"orders_*", "prompts:orders_report", false},
		{"file:///docs/**", "resources:file:///docs/a.txt", false},
	} {
		if got := Matches(c.glob, c.name); got != c.want {
			t.Errorf("%s against %s: %v", c.glob, c.name, got)
		}
	}
}

func TestWhatIsNoGlobIsNamed(t *testing.T) {
	for glob, ok := range map[string]bool{"a*": true, "a/**/b": true, "{a,b}": true, "": false, "[a": false, "{a": false, "a\\": false} {
		if err := CheckGlob(glob); (err == nil) != ok {
			t.Errorf("%q: %v", glob, err)
		}
	}
}
