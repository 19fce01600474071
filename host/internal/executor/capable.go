// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"encoding/json"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// capable is the gate of a tool that needs something of its client (MCP 2026-07-28,
// basic, MissingRequiredClientCapability). It stands first: whatever the arguments
// are, this client cannot call it.
type capable struct{}

func (capable) Name() string { return gateCapable }

func (capable) Judge(_ context.Context, c *tool.Case) (tool.Verdict, error) {
	switch {
	case c.Client.Protocol == "": // explain, and what is no MCP client, cannot be asked anyway
		return tool.Passed("what the client can is not known"), nil
	case covers(c.Client, c.Spec.Needs):
		return tool.Passed("the client can what the tool needs"), nil
	}
	err := tool.Errorf(tool.Denied, "missing_capability", "%s needs a client with the capabilities %.512s", c.Spec.Name, c.Spec.Needs)
	err.Needs = c.Spec.Needs
	return tool.Refused("the client cannot what the tool needs", err), nil
}

// covers reports whether a client has declared everything of needs.
func covers(c tool.Client, needs json.RawMessage) bool {
	var wanted, declared map[string]json.RawMessage
	if json.Unmarshal(needs, &wanted) != nil {
		return false
	}
	_ = json.Unmarshal(c.Capabilities, &declared) // what is no object declares nothing
	for name, within := range wanted {
		switch name {
		case "elicitation", "sampling", "roots":
			if c.Protocol < modern {
				return false // within a session only, and there are none
			}
		}
		if name == "elicitation" && wantsForm(within) && canAnswer(c, "elicitation/create", modeForm) {
			continue // {} declares forms
		}
		if !holds(declared[name], within) {
			return false
		}
	}
	return true
}

// wantsForm reports whether nothing but forms is wanted of elicitation.
func wantsForm(within json.RawMessage) bool {
	var modes map[string]json.RawMessage
	if json.Unmarshal(within, &modes) != nil {
		return false
	}
	delete(modes, modeForm)
	return len(modes) == 0
}

// holds reports whether a capability is there, with every member that is wanted of
// it.
func holds(declared, wanted json.RawMessage) bool {
	if len(declared) == 0 || string(declared) == "null" || string(declared) == "false" {
		return false
	}
	var want, have map[string]json.RawMessage
	if json.Unmarshal(wanted, &want) != nil {
		return true // nothing that a client could declare more of
	}
	_ = json.Unmarshal(declared, &have)
	for name, within := range want {
		if !holds(have[name], within) {
			return false
		}
	}
	return true
}
