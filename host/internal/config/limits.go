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
			c.tool(a, name, a.Tools[name])
		}
	}
}

func (c checker) tool(a Adapter, name string, t ToolPolicy) {
	at := []string{"adapters", a.Name, "tools", name}
	c.amount(t.Cost.String(), append(slices.Clone(at), "cost")...)
	switch at = append(at, "cache"); {
	case t.Cache == nil || !c.has(at...):
	case t.Cache.TTL < time.Millisecond || t.Cache.TTL > maxDuration:
		c.refuse(at, "", "must be at least 1ms and at most a year")
	case t.Cache.Shared && a.PassPrincipal:
		c.refuse(at, "remove pass_principal of the adapter, or shared", "would give one caller what the plugin has answered to another")
	}
}

func (c checker) amount(s string, location ...string) {
	if _, err := limit.ParseAmount(s); s != "" && err != nil && c.has(location...) {
		c.refuse(location, "", "must be at most a billion, with at most nine places after the point, is %.64s", s)
	}
}
