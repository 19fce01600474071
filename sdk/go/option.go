// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"encoding/json"
	"slices"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// ToolOption says something about a tool; see [AddTool].
type ToolOption interface{ applyTool(*toolOptions) }

type toolOptions struct {
	decl    *pluginv1.Tool
	effects []pluginv1.Effects
	input   json.RawMessage
	output  json.RawMessage
	asks    []InputRequest
}

type toolOption func(*toolOptions)

func (f toolOption) applyTool(o *toolOptions) { f(o) }

// Description says to the model what the tool does and when to use it.
func Description(text string) ToolOption {
	return toolOption(func(o *toolOptions) { o.decl.Description = text })
}

// Title is the tool's name for people.
func Title(text string) ToolOption {
	return toolOption(func(o *toolOptions) { o.decl.Title = text })
}

// ReadOnly says that a call changes nothing outside the plugin. The host may cache,
// join and repeat such calls.
func ReadOnly() ToolOption { return effects(pluginv1.Effects_EFFECTS_READ_ONLY) }

// Additive says that a call adds, and never changes or removes what is there.
func Additive() ToolOption { return effects(pluginv1.Effects_EFFECTS_ADDITIVE) }

// Destructive says that a call may change or remove what is there. A tool that says
// nothing of its effects is treated the same.
func Destructive() ToolOption { return effects(pluginv1.Effects_EFFECTS_DESTRUCTIVE) }

func effects(e pluginv1.Effects) ToolOption {
	return toolOption(func(o *toolOptions) {
		o.decl.Effects = e
		if !slices.Contains(o.effects, e) {
			o.effects = append(o.effects, e)
		}
	})
}

// Idempotent says that calling twice with the same arguments does no more than calling
// once. The host may then repeat a call that was lost in a crash.
func Idempotent() ToolOption {
	return toolOption(func(o *toolOptions) { o.decl.Idempotent = true })
}

// Confirm says whether a person must approve each call. Without it the effects
// decide. Only a rule of the operator lowers Confirm(true).
func Confirm(yes bool) ToolOption {
	return toolOption(func(o *toolOptions) { o.decl.Confirm = &yes })
}

// Tags are words that rules of the operator may match.
func Tags(tags ...string) ToolOption {
	return toolOption(func(o *toolOptions) { o.decl.Tags = append(o.decl.Tags, tags...) })
}

// LenientArgs lets the host coerce arguments before it validates them: null
// for an absent optional property, a scalar for an array, JSON text for an
// object or array, exact integer text for an integer. Nothing else.
func LenientArgs() ToolOption {
	return toolOption(func(o *toolOptions) { o.decl.LenientArgs = true })
}

// InputSchema replaces the schema that is inferred from the argument type: JSON
// Schema 2020-12 of an object, at most 64 KiB, no reference that leaves the
// document. Defaults are still taken from the type's tags only.
func InputSchema(schema json.RawMessage) ToolOption {
	return toolOption(func(o *toolOptions) { o.input = schema })
}

// OutputSchema replaces the schema that is inferred from the result type: JSON
// Schema 2020-12, at most 64 KiB, no reference that leaves the document.
func OutputSchema(schema json.RawMessage) ToolOption {
	return toolOption(func(o *toolOptions) { o.output = schema })
}

// Asks names questions that the tool may [Ask], so that their mistakes are found
// when the plugin starts and not when somebody is asked. It promises nothing to
// the host.
func Asks(questions ...InputRequest) ToolOption {
	return toolOption(func(o *toolOptions) { o.asks = append(o.asks, questions...) })
}
