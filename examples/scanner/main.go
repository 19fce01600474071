// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

// Scanner is a hook: it looks for secrets in what tools are called with and in what
// they answer.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/toolwharf/toolwharf/sdk/go"
)

func main() { plugin().Serve() }

func plugin() *toolwharf.Plugin[scanner] {
	p := toolwharf.New(toolwharf.Info{
		Name:        "scanner",
		Version:     "1.0.0",
		Title:       "Secret scanner",
		Description: "Refuses or masks what looks like a secret, in arguments and results of other adapters' tools.",
	}, open)
	toolwharf.AddBeforeTool(p, (*scanner).before)
	toolwharf.AddAfterTool(p, (*scanner).after)
	toolwharf.AddTool(p, "scan", (*scanner).scan, toolwharf.ReadOnly(),
		toolwharf.Description("Say what kinds of secrets a text seems to hold, without repeating them."))
	return p
}

type config struct {
	Arguments string   `json:"arguments" enum:"refuse,mask" default:"refuse" jsonschema:"what is done about a secret in arguments"`
	Results   string   `json:"results" enum:"refuse,mask" default:"mask" jsonschema:"what is done about a secret in a result"`
	Patterns  []string `json:"patterns,omitempty" max:"100" jsonschema:"regular expressions (RE2) of more secrets"`
}

// scanner is the state: what is looked for, and what is done about it.
type scanner struct {
	config config
	kinds  []kind
}

func open(_ context.Context, c config) (*scanner, error) {
	s := &scanner{config: c, kinds: wellKnown()}
	var faults []error
	for i, text := range c.Patterns {
		pattern, err := regexp.Compile(text)
		switch {
		case err != nil:
			faults = append(faults, toolwharf.ConfigFault(fmt.Sprintf("/patterns/%d", i), "is no regular expression"))
		case pattern.MatchString(""):
			faults = append(faults, toolwharf.ConfigFault(fmt.Sprintf("/patterns/%d", i), "fits the empty text, and so everything"))
		default:
			s.kinds = append(s.kinds, kind{fmt.Sprintf("pattern %d", i), pattern})
		}
	}
	return s, errors.Join(faults...)
}

// before judges a call.
func (s *scanner) before(_ context.Context, call toolwharf.Hooked) (json.RawMessage, error) {
	var f findings
	clean, err := s.document(call.Arguments, &f)
	switch {
	case err != nil || f.none():
		return nil, err
	case s.config.Arguments == "refuse" || f.inKeys:
		return nil, toolwharf.Denied("secret_in_arguments", "the arguments seem to hold a secret ("+f.String()+"): leave it out")
	}
	return clean, nil
}

// after judges a result. Pictures, sounds and other bytes are let pass unseen.
func (s *scanner) after(_ context.Context, _ toolwharf.Hooked, r toolwharf.Result) (*toolwharf.Result, error) {
	var f findings
	for i, block := range r.Content {
		if text, ok := block.Text(); ok {
			r.Content[i] = block.WithText(s.text(text, &f))
		}
	}
	if r.Structured != nil {
		var err error
		if r.Structured, err = s.document(r.Structured, &f); err != nil {
			return nil, err
		}
	}
	switch {
	case f.none():
		return nil, nil //nolint:nilnil // let it pass
	case s.config.Results == "refuse" || f.inKeys:
		return nil, toolwharf.Denied("secret_in_result", "the result seems to hold a secret ("+f.String()+") and is withheld")
	}
	return &r, nil
}

type scanIn struct {
	Text string `json:"text"`
}

type scanOut struct {
	Kinds []string `json:"kinds" jsonschema:"what was found, each kind once"`
}

func (s *scanner) scan(_ context.Context, in scanIn) (scanOut, error) {
	var f findings
	s.text(in.Text, &f)
	return scanOut{f.kinds}, nil
}
