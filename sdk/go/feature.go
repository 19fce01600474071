// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import "slices"

// Feature is something that a plugin can do; hosts are told which, once, whatever
// the configuration.
type Feature string

// The features, in the protocol's words. A plugin has those that it uses; [Offers]
// names the ones that only a configuration or a later change brings.
const (
	FeatureTools         Feature = "tools"
	FeatureResources     Feature = "resources"
	FeatureSubscriptions Feature = "resource_subscriptions"
	FeaturePrompts       Feature = "prompts"
	FeatureCompletion    Feature = "completion"
	FeatureHooks         Feature = "hooks"
)

// changeable are the features that a catalogue can bring, in the order in which
// they are told.
var changeable = []Feature{FeatureTools, FeatureResources, FeatureSubscriptions, FeaturePrompts, FeatureCompletion}

// Offers says that the plugin may have these features although nothing that is
// added before [Plugin.Serve] needs them: hosts are told features before they
// give the configuration that [Catalog.Change] may go by.
func Offers(features ...Feature) PluginOption {
	return pluginOption(func(c *core) {
		for _, f := range features {
			if !slices.Contains(changeable, f) {
				c.fault("Offers: %q is no feature that a catalogue can bring", f)
			}
		}
		c.offers = append(c.offers, features...)
	})
}

// features are what hosts are told, the same for the life of the process.
func (c *core) features() []string {
	needs := c.base.features()
	needs[FeatureResources] = needs[FeatureResources] || slices.Contains(c.offers, FeatureSubscriptions)
	var list []string
	for _, f := range changeable {
		if needs[f] || slices.Contains(c.offers, f) {
			list = append(list, string(f))
		}
	}
	if c.before != nil || c.after != nil {
		list = append(list, string(FeatureHooks))
	}
	return list
}

func (c *core) has(f Feature) bool { return slices.Contains(c.features(), string(f)) }
