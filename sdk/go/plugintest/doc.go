// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Package plugintest tries a plugin in a test as a host would: over gRPC and mutual
// TLS, in the test's own process, so that the debugger and the race detector see
// both sides.
//
//	h := plugintest.Start(t, plugin(), plugintest.Config(map[string]any{"greeting": "Ahoy"}))
//	out := h.Call("greet", map[string]any{"name": "Ada"})
//	if out.Text() != "Ahoy, Ada!" {
//		t.Error(out)
//	}
//
// [Start] describes and configures the plugin, follows its catalogue, and lets it go
// when the test ends. A [Host] calls tools, reads resources, makes prompts, completes
// values and asks hooks; it answers questions, and collects progress, messages and log
// lines.
//
// Whatever the plugin says is held to the protocol, as strictly as hosts hold it: a
// catalogue that a host would not take, a result that does not fit its schema or the
// limits, progress that does not grow, an error without a code fail the test. What a
// host would not let through to the plugin, arguments that do not fit the schema above
// all, comes back as the error that the host would give.
//
// Messages of the protocol are those of package pluginv1. A plugin's tests read them
// by their getters and need not import it.
package plugintest
