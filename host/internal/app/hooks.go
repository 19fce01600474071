// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"github.com/toolwharf/toolwharf/host/internal/config"
	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/hook"
	"github.com/toolwharf/toolwharf/host/internal/telemetry"
)

// hooks are those of a configuration, in its order.
func (h *Host) hooks(of *config.Config) []executor.Hook {
	var out []executor.Hook
	for _, c := range of.Hooks {
		one := &hook.Hook{
			Adapter: c.Adapter, Tools: c.Tools, Timeout: c.Timeout, FailOpen: c.Fail == "open",
			On: h.registry, Log: telemetry.Slog(h.log.Named("hook")),
		}
		for _, p := range c.Powers {
			one.Powers = append(one.Powers, hook.Power(p))
		}
		out = append(out, one)
	}
	return out
}
