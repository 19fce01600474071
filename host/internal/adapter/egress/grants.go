// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import "fmt"

// grants are what an adapter may reach.
type grants map[target]bool

func parseGrants(values []string) (grants, error) {
	g := make(grants, len(values))
	for _, v := range values {
		t, err := parseTarget(v)
		if err != nil {
			return nil, fmt.Errorf("connect grant %q: %w", v, err)
		}
		if t.name == "" {
			if r, what := reachOf(t.addr); r == never {
				return nil, fmt.Errorf("connect grant %q: it is %s, which no adapter may reach", v, what)
			}
		}
		g[t] = true
	}
	return g, nil
}
