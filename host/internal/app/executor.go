// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"crypto/rand"
	"fmt"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/seal"
	"github.com/toolwharf/toolwharf/host/internal/telemetry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Bounds of what may be pending.
var (
	pendingQuota = approval.Quota{PerPrincipal: 100, Total: 10_000}
	formQuota    = approval.Quota{PerPrincipal: 1000}
)

// newExecutor puts the executor of this host together from its configuration.
func (h *Host) newExecutor(id string) (*executor.Executor, error) {
	policy, err := h.newPolicy(h.config, nil)
	if err != nil {
		return nil, err
	}
	h.reloads.rules = policy.rules
	if h.sealed, err = h.sealer(); err != nil {
		return nil, err
	}
	asking := asking(h.config)
	if asking.Form {
		h.log.Warn("approval.client_form: clients that can show a form decide about their own calls; " +
			"an agentic client may answer by itself")
	}
	x := executor.New(executor.Config{
		Registry: h.registry,
		Journal:  h.vault.spool, Approvals: h.vault.store, Sealer: h.sealed, Asking: asking, Redactor: &h.redactor,
		MaxResult: MaxResult, Kept: h.kept, Answers: h.answers, Reached: crashPoint(), Host: id, Keyer: h.vault.keyer, Told: h.callEnded, Tracer: h.tracer(),
		Log: telemetry.Slog(h.log.Named("executor")),
	})
	x.SetPolicy(policy.Policy)
	return x, nil
}

// asking says who decides what needs an approval.
func asking(c *config.Config) executor.Asking {
	a := c.Approval
	var link func(string) string
	if public := c.HTTP.PublicURL; public != "" {
		link = func(id string) string { return approval.Link(public, id) }
	}
	return executor.Asking{
		Link:     link,
		Deferred: a.Mode == "deferred", Form: a.ClientForm, Expires: a.Expires, Wait: a.Wait,
		Quota: pendingQuota, FormQuota: formQuota,
	}
}

// policy is what may change while calls run.
type policy struct {
	*executor.Policy

	rules *rules.Transition
}

// newPolicy is that of a configuration. earlier are the rules of those before.
func (h *Host) newPolicy(c *config.Config, earlier []*rules.Rules) (policy, error) {
	now, err := newRules(c)
	if err != nil {
		return policy{}, err
	}
	judge := &rules.Transition{
		Now: now, Before: earlier,
		Behind: func(adapter string) bool { return h.reconciler.Behind(adapter) }, // it is made later
	}
	limits, err := h.limits(c)
	if err != nil {
		return policy{}, err
	}
	asking := asking(c)
	gates := []executor.Gate{judge, approval.Gate{Asks: asking.Deferred || asking.Form}}
	return policy{&executor.Policy{
		Gates: gates, Hooks: h.hooks(c), Limits: limits, Cache: cached(c), Visible: judge.Visible, Hides: judge.Hides, Lacks: judge.Lacks,
		Settled: func() bool { return len(earlier) == 0 || !h.reconciler.AnyBehind() },
	}, judge}, nil
}

// ruleList are the configured rules.
func ruleList(c *config.Config) []rules.Rule {
	list := make([]rules.Rule, 0, len(c.Rules))
	for _, r := range c.Rules {
		rule := rules.Rule{Line: r.Line, Adapters: r.Adapters, Tags: r.Tags, Principals: r.Principals, Scopes: r.Scopes, When: r.When}
		for _, e := range r.Effects {
			rule.Effects = append(rule.Effects, tool.Effects(e))
		}
		switch {
		case len(r.Allow) > 0:
			rule.Verb, rule.Names = rules.Allow, r.Allow
		case len(r.Confirm) > 0:
			rule.Verb, rule.Names = rules.Confirm, r.Confirm
		default:
			rule.Verb, rule.Names = rules.Deny, r.Deny
		}
		list = append(list, rule)
	}
	return list
}

// newRules are the configured rules and defaults.
func newRules(c *config.Config) (*rules.Rules, error) {
	d := c.Defaults
	policy, err := rules.New(ruleList(c), rules.Defaults{
		ReadOnly: rules.Verb(d.ReadOnly), Additive: rules.Verb(d.Additive), Destructive: rules.Verb(d.Destructive),
	})
	if err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	return policy, nil
}

// sealer seals states with the configured keys, or with one of this process:
// states then end with it.
func (h *Host) sealer() (*seal.Sealer, error) {
	var keys [][]byte
	for i, k := range h.config.Approval.StateKeys {
		expanded, err := h.expand(fmt.Sprintf("approval.state_keys[%d]", i), k)
		if err != nil {
			return nil, err
		}
		keys = append(keys, []byte(expanded))
	}
	if len(keys) == 0 {
		key := make([]byte, seal.MinKey)
		_, _ = rand.Read(key) // never fails
		keys = append(keys, key)
	}
	sealer, err := seal.New(h.config.Name+"/"+h.vault.store.ID(), keys...)
	if err != nil {
		return nil, fmt.Errorf("approval.state_keys: %w", err)
	}
	return sealer, nil
}
