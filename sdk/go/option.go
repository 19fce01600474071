// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"encoding/json"
	"slices"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// ToolOption says something about a tool; see [AddTool].
type ToolOption interface{ applyTool(o *toolOptions) }

// ResourceOption says something about a resource or a template; see [AddResource].
type ResourceOption interface{ applyResource(o *resourceOptions) }

// PromptOption says something about a prompt; see [AddPrompt].
type PromptOption interface{ applyPrompt(o *promptOptions) }

// Option says something about a tool, a resource, a template or a prompt.
type Option interface {
	ToolOption
	ResourceOption
	PromptOption
}

// CompletionOption is a [Complete].
type CompletionOption interface {
	ResourceOption
	PromptOption
}

// shared is what everything that is offered has.
type shared struct {
	title, description string
	icons              []*pluginv1.Icon
	meta               json.RawMessage
}

// check bounds and cleans what an author wrote.
func (s *shared) check(fault func(string, ...any)) {
	s.title, s.description = valid(s.title), valid(s.description)
	if s.meta != nil && !isObject(s.meta) {
		fault("Meta is not a JSON object")
	}
	for _, icon := range s.icons {
		if !iconSource.MatchString(icon.GetSrc()) {
			fault("the source of an icon is an https: or data: URI, not %.64q", icon.GetSrc())
		}
	}
}

type (
	toolOptions struct {
		shared
		decl     *pluginv1.Tool
		effects  []pluginv1.Effects
		input    json.RawMessage
		output   json.RawMessage
		required json.RawMessage
		asks     []InputRequest
	}
	resourceOptions struct {
		shared
		name, mimeType string
		size           *int64
		annotations    *pluginv1.Annotations
		subscribable   bool
		completers     []*completer
	}
	promptOptions struct {
		shared
		completers []*completer
	}
)

func resourceOptionsOf(opts []ResourceOption) *resourceOptions {
	o := new(resourceOptions)
	for _, opt := range opts {
		opt.applyResource(o)
	}
	return o
}

func promptOptionsOf(opts []PromptOption) *promptOptions {
	o := new(promptOptions)
	for _, opt := range opts {
		opt.applyPrompt(o)
	}
	return o
}

type (
	option         func(*shared)
	toolOption     func(*toolOptions)
	resourceOption func(*resourceOptions)
)

func (f option) applyTool(o *toolOptions)                 { f(&o.shared) }
func (f option) applyResource(o *resourceOptions)         { f(&o.shared) }
func (f option) applyPrompt(o *promptOptions)             { f(&o.shared) }
func (f toolOption) applyTool(o *toolOptions)             { f(o) }
func (f resourceOption) applyResource(o *resourceOptions) { f(o) }

func completion(c *completer) CompletionOption { return c }

func (c *completer) applyResource(o *resourceOptions) { o.completers = append(o.completers, c) }
func (c *completer) applyPrompt(o *promptOptions)     { o.completers = append(o.completers, c) }

// Description says what a tool does and when to use it, what a resource holds, what
// a prompt is for: to the model, and to people.
func Description(text string) Option { return option(func(s *shared) { s.description = text }) }

// Title is a name for people.
func Title(text string) Option { return option(func(s *shared) { s.title = text }) }

// Meta is one JSON object, given to clients as `_meta`; keys that are reserved by MCP
// or the host are stripped.
func Meta(object json.RawMessage) Option { return option(func(s *shared) { s.meta = object }) }

// Icons are pictures for people.
func Icons(icons ...Icon) Option {
	return option(func(s *shared) {
		for _, i := range icons {
			s.icons = append(s.icons, &pluginv1.Icon{Src: valid(i.Src), MimeType: valid(i.MIMEType), Sizes: i.Sizes, Theme: valid(i.Theme)})
		}
	})
}

// Icon is a picture for people (MCP Icon).
type Icon struct {
	// Src is an https: or data: URI.
	Src string
	// MIMEType is the media type, if known.
	MIMEType string
	// Sizes are "48x48" or "any".
	Sizes []string
	// Theme is "light" or "dark"; empty: either.
	Theme string
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

// OpenWorld says whether the tool deals with an open world of entities, such as the
// web, or with a closed one.
func OpenWorld(yes bool) ToolOption {
	return toolOption(func(o *toolOptions) { o.decl.OpenWorld = &yes })
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

// Requires says what a client must be able to do for the tool to work: one JSON
// object, MCP ClientCapabilities, such as {"elicitation":{}}.
func Requires(capabilities json.RawMessage) ToolOption {
	return toolOption(func(o *toolOptions) { o.required = capabilities })
}

// MayBeTask says that a call may become a task, which the client polls, if the
// client can do that; with only, that clients which cannot may not call the tool.
func MayBeTask(only bool) ToolOption {
	return toolOption(func(o *toolOptions) {
		o.decl.TaskSupport = pluginv1.TaskSupport_TASK_SUPPORT_OPTIONAL
		if only {
			o.decl.TaskSupport = pluginv1.TaskSupport_TASK_SUPPORT_REQUIRED
		}
	})
}

// Asks names questions that the tool may [Ask], so that their mistakes are found
// when the plugin starts and not when somebody is asked. It promises nothing to
// the host.
func Asks(questions ...InputRequest) ToolOption {
	return toolOption(func(o *toolOptions) { o.asks = append(o.asks, questions...) })
}

// MIMEType is the media type of a resource, or of all of a template's.
func MIMEType(mediaType string) ResourceOption {
	return resourceOption(func(o *resourceOptions) { o.mimeType = valid(mediaType) })
}

// Size is the size of a resource in bytes.
func Size(bytes int64) ResourceOption {
	return resourceOption(func(o *resourceOptions) { o.size = &bytes })
}

// Annotate gives clients hints about a resource.
func Annotate(a Annotations) ResourceOption {
	return resourceOption(func(o *resourceOptions) { o.annotations = a.wire() })
}

// Subscribable says that clients may ask to be told of changes of the resource, or
// of any of the template's: see [Catalog.ResourceUpdated].
func Subscribable() ResourceOption {
	return resourceOption(func(o *resourceOptions) { o.subscribable = true })
}
