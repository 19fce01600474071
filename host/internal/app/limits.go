// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"

	"github.com/toolwharf/toolwharf/host/internal/cache"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/limit"
)

// limits are those of a configuration. What they count in is the host's.
func (h *Host) limits(c *config.Config) (*limit.Policy, error) {
	l := c.Limits
	p := &limit.Policy{
		MaxCalls: int64(l.MaxCalls), DefaultRun: l.DefaultRun, Adapters: map[string]limit.Adapter{},
		Rates: &h.rates, Counts: h.vault.store,
	}
	var err error
	if p.Admission, err = rateOf(l.Admission, "limits.admission"); err != nil {
		return nil, err
	}
	if p.Rate, err = rateOf(l.Rate, "limits.rate"); err != nil {
		return nil, err
	}
	if l.Budget != "" {
		if p.Budget, err = limit.ParseAmount(l.Budget.String()); err != nil {
			return nil, fmt.Errorf("limits.budget: %w", err)
		}
	}
	for _, a := range c.Adapters {
		of := limit.Adapter{Tools: map[string]limit.Tool{}}
		if of.Rate, err = rateOf(a.Limits.Rate, "adapters."+a.Name+".limits.rate"); err != nil {
			return nil, err
		}
		for name, t := range a.Tools {
			if of.Tools[name], err = toolLimits(t); err != nil {
				return nil, fmt.Errorf("adapters.%s.tools.%s: %w", a.Name, name, err)
			}
		}
		p.Adapters[a.Name] = of
	}
	return p, nil
}

func toolLimits(t config.ToolPolicy) (limit.Tool, error) {
	of := limit.Tool{MaxCalls: int64(t.MaxCalls), OncePerRun: t.OncePerRun}
	var err error
	if of.Rate, err = rateOf(t.Rate, "rate"); err != nil || t.Cost == "" {
		return of, err
	}
	cost, err := limit.ParseAmount(t.Cost.String())
	if err != nil {
		return of, fmt.Errorf("cost: %w", err)
	}
	of.Cost = &cost
	return of, nil
}

// cached is of which tools answers are kept.
func cached(c *config.Config) cache.Policy {
	p := cache.Policy{}
	for _, a := range c.Adapters {
		for name, t := range a.Tools {
			if t.Cache == nil {
				continue
			}
			if p[a.Name] == nil {
				p[a.Name] = map[string]cache.Terms{}
			}
			p[a.Name][name] = cache.Terms{TTL: t.Cache.TTL, Shared: t.Cache.Shared}
		}
	}
	return p
}

// rateOf is no limit for no text.
func rateOf(s, key string) (limit.Rate, error) {
	if s == "" {
		return limit.Rate{}, nil
	}
	r, err := limit.ParseRate(s)
	if err != nil {
		return r, fmt.Errorf("%s: %w", key, err)
	}
	return r, nil
}

// updated is what an adapter says of one of its resources: what its tools have
// answered may not be so any more either.
func (h *Host) updated(adapter, uri string) {
	h.answers.Forget(adapter)
	h.registry.Updated(adapter, uri)
}
