// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"encoding/json"
	"strings"
)

// What is no tool has a public name of its own kind, which rules, ledger and
// approvals see: a tool's never has a colon.
const (
	resourceKind = "resources:"
	promptKind   = "prompts:"
)

// ResourceName is the public name of a resource, or of a family of them, whose
// URI is a template.
func ResourceName(uri string) string { return resourceKind + uri }

// PromptName is the public name of a prompt.
func PromptName(name string) string { return promptKind + name }

// ResourceURI returns the URI of a resource's public name.
func ResourceURI(name string) (uri string, ok bool) { return strings.CutPrefix(name, resourceKind) }

// OfAnotherKind reports whether a public name is not that of a tool.
func OfAnotherKind(name string) bool {
	return strings.HasPrefix(name, resourceKind) || strings.HasPrefix(name, promptKind)
}

// PublicName is what rules, ledger and approvals call what is called.
func (c *Call) PublicName() string {
	switch c.Op {
	case OpResource:
		return ResourceName(c.Name)
	case OpPrompt:
		return PromptName(c.Name)
	case OpTool, OpCompletion: // completion is of a prompt or a family, by its public name
		return c.Name
	default:
		return c.Name
	}
}

// Resource is one readable thing, or a family of them (MCP Resource and
// ResourceTemplate). It is immutable once it is in the registry.
type Resource struct {
	// URI is absolute; of a family it is an RFC 6570 template.
	URI                                string
	Name, Title, Description, MIMEType string
	// Size in bytes, nil if unknown; a family has none.
	Size        *int64
	Annotations *Annotations
	Icons       []Icon
	// Meta is one JSON object for clients.
	Meta json.RawMessage
}

// Prompt is one text that an adapter makes on request (MCP Prompt). It is
// immutable once it is in the registry.
type Prompt struct {
	// Name is public: prefix and declared name, as a tool's.
	Name, Title, Description string
	Arguments                []PromptArgument
	Icons                    []Icon
	// Meta is one JSON object for clients.
	Meta json.RawMessage
}

// PromptArgument is one parameter of a Prompt; its value is text.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// Completion proposes values of one argument.
type Completion struct {
	// Values are at most 100, best first.
	Values []string
	// Total is how many there are in all, nil if unknown.
	Total *int32
	// More: there are more than Values.
	More bool
}

// Completing are the arguments of a completion.
type Completing struct {
	// Argument is completed; Value is what was typed so far.
	Argument string `json:"argument"`
	Value    string `json:"value"`
	// Resolved are arguments that have a value already.
	Resolved map[string]string `json:"resolved,omitempty"`
}
