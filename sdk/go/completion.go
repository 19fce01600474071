// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"reflect"
	"strings"

	"github.com/toolwharf/toolwharf/sdk/go/internal/schema"
)

// maxCompletions is how many values a client is given at once (MCP 2026-07-28).
const maxCompletions = 100

// Completion is a value that somebody is typing; see [Complete].
type Completion struct {
	// Argument is the name of the prompt's argument or the template's variable.
	Argument string
	// Value is what was typed so far.
	Value string
	// Resolved are the arguments that have a value already.
	Resolved map[string]string
}

// completer proposes values of one argument.
type completer struct {
	argument string
	state    reflect.Type // that it is written for; nil: any
	propose  func(ctx context.Context, state any, c Completion) ([]string, error)
}

// Complete proposes values of an argument of a prompt, or of a variable of a
// template, while somebody types; method expressions of the plugin's state fit. The
// best come first; more than 100 are cut, and the client is told that there are
// more. It is called at each keystroke, so it has to be quick. An error is logged,
// and nothing is proposed.
func Complete[S any](argument string, h func(*S, context.Context, Completion) ([]string, error)) CompletionOption {
	return completion(&completer{argument, reflect.TypeFor[S](), func(ctx context.Context, state any, c Completion) ([]string, error) {
		s, _ := state.(*S)
		return h(s, ctx, c)
	}})
}

// CompleteFunc proposes values without the plugin's state; see [Complete].
func CompleteFunc(argument string, h func(context.Context, Completion) ([]string, error)) CompletionOption {
	return completion(&completer{argument, nil, func(ctx context.Context, _ any, c Completion) ([]string, error) {
		return h(ctx, c)
	}})
}

// completersOf indexes the completers of one prompt or template, and adds those of
// enums.
func completersOf(list []*completer, state reflect.Type, arguments *schema.Type, fault func(string, ...any)) map[string]*completer {
	texts := map[string]schema.Text{}
	for _, text := range arguments.Texts() {
		texts[text.Name] = text
	}
	index := map[string]*completer{}
	for _, c := range list {
		if _, ok := texts[c.argument]; !ok {
			fault("Complete: there is no argument %q", c.argument)
		}
		if index[c.argument] != nil {
			fault("Complete: %q is completed twice", c.argument)
		}
		if c.state != nil && c.state != state {
			fault("Complete: %q is completed by a %v, but the plugin's state is a %v", c.argument, c.state, state)
		}
		index[c.argument] = c
	}
	for name, text := range texts {
		if text.Enum != nil && index[name] == nil {
			index[name] = choice(text)
		}
	}
	return index
}

// choice proposes the values of an enum that begin with what was typed.
func choice(text schema.Text) *completer {
	return &completer{argument: text.Name, propose: func(_ context.Context, _ any, c Completion) ([]string, error) {
		var fitting []string
		for _, v := range text.Enum {
			if len(v) >= len(c.Value) && strings.EqualFold(v[:len(c.Value)], c.Value) {
				fitting = append(fitting, v)
			}
		}
		return fitting, nil
	}}
}
