// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// prompt makes one prompt fit. Its arguments are validated like a tool's, by the
// schema that its parameters come to.
func (l *list) prompt(p tool.Prompt) (*registry.Offer, error) {
	declared := p.Name
	if !declaredName.MatchString(declared) {
		return nil, errors.New("a prompt's name has 1 to 128 of A-Z a-z 0-9 _ . -")
	}
	if err := wordy(p.Title, p.Description); err != nil {
		return nil, err
	}
	p.Arguments = slices.Clone(p.Arguments) // those of the catalogue may have been offered before
	raw, err := parameters(p.Arguments)
	if err != nil {
		return nil, err
	}
	input, err := l.schemas.Compile(raw, schema.Input)
	if err != nil {
		return nil, fmt.Errorf("its parameters: %w", err)
	}
	p.Name, _ = registry.PublicName(l.desired.Prefix, declared)
	p.Title = strings.ToValidUTF8(p.Title, "\uFFFD")
	p.Description = strings.ToValidUTF8(p.Description, "\uFFFD")
	o := &registry.Offer{Prompt: &p, Input: input, Spec: tool.Spec{
		Op: tool.OpPrompt, Name: tool.PromptName(p.Name), Adapter: l.desired.Name, Declared: declared, Title: p.Title, Description: p.Description,
		Input: raw, Effects: tool.ReadOnly, Idempotent: true, Icons: p.Icons, Meta: p.Meta,
	}}
	o.Spec.Seal()
	return o, nil
}

// parameters mends a prompt's arguments and is their schema. Their values are texts (MCP
// 2026-07-28, server/prompts).
func parameters(arguments []tool.PromptArgument) (json.RawMessage, error) {
	if len(arguments) > maxArguments {
		return nil, fmt.Errorf("it has more than %d parameters", maxArguments)
	}
	type text struct {
		Type        string `json:"type"`
		Description string `json:"description,omitempty"`
	}
	properties, required := map[string]text{}, []string{}
	for i := range arguments {
		a := &arguments[i]
		for _, s := range []*string{&a.Name, &a.Title, &a.Description} {
			*s = strings.ToValidUTF8(*s, "\uFFFD")
		}
		if _, twice := properties[a.Name]; twice || a.Name == "" || len(a.Name) > maxTitle {
			return nil, fmt.Errorf("its parameter %.64q has a name that is empty, too long or taken", a.Name)
		}
		if err := wordy(a.Title, a.Description); err != nil {
			return nil, err
		}
		properties[a.Name] = text{"string", a.Description}
		if a.Required {
			required = append(required, a.Name)
		}
	}
	raw, err := json.Marshal(map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	})
	if err != nil {
		return nil, fmt.Errorf("its parameters: %w", err)
	}
	return raw, nil
}
