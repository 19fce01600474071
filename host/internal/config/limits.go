// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"slices"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/limit"
)

// limits: amounts that cannot be counted exactly would hold less, or more, than
// they say.
func (c checker) limits() {
	l := c.cfg.Limits
	c.amount(l.Budget.String(), "limits", "budget")
	if c.has("limits", "default_run") && (l.DefaultRun < time.Second || l.DefaultRun > maxDuration) {
		c.refuse([]string{"limits", "default_run"}, "", "must be at least 1s and at most a year")
	}
	for _, a := range c.cfg.Adapters {
		for _, name := range slices.Sorted(maps.Keys(a.Tools)) {
			c.amount(a.Tools[name].Cost.String(), "adapters", a.Name, "tools", name, "cost")
		}
	}
}

func (c checker) amount(s string, location ...string) {
	if _, err := limit.ParseAmount(s); s != "" && err != nil && c.has(location...) {
		c.refuse(location, "", "must be at most a billion, with at most nine places after the point, is %.64s", s)
	}
}
