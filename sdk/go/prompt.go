// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
	"github.com/toolwharf/toolwharf/sdk/go/internal/schema"
)

// prompt is one registered prompt.
type prompt struct {
	decl       *pluginv1.Prompt
	arguments  *schema.Type
	completers map[string]*completer
	get        func(ctx context.Context, state any, values map[string]string) (*PromptResult, error)
}

// PromptResult is for handlers that want to say all of a prompt themselves.
type PromptResult struct {
	// Description says what the prompt is for.
	Description string
	// Messages are the prompt, in order.
	Messages []PromptMessage
	// Meta is one JSON object, given to the client as `_meta`; nil: none.
	Meta json.RawMessage
}

// PromptMessage is one message of a prompt; see [User] and [Assistant].
type PromptMessage struct {
	role    string
	content Content
}

// User is a message in the user's name.
func User(c Content) PromptMessage { return PromptMessage{"user", c} }

// Assistant is a message in the model's name.
func Assistant(c Content) PromptMessage { return PromptMessage{"assistant", c} }

// AddPrompt adds a prompt that works with the plugin's state; method expressions
// fit:
//
//	toolwharf.AddPrompt(p, "review", (*Shop).Review, toolwharf.Description("Review an order."))
//
// In is a struct: its fields are the prompt's arguments, which clients give as text.
// A field is text, a number, true or false, or what reads itself from text, with the
// tags that arguments of tools may have; values are judged before the handler sees
// them. Out is text, which becomes one message of the user, a [PromptMessage], a list
// of them, or [PromptResult]. [Complete] helps people who type a value; the values of
// an enum are completed without it.
func AddPrompt[S, In, Out any](r Registry[S], name string, h func(*S, context.Context, In) (Out, error), opts ...PromptOption) {
	p := addPrompt(r.registry(nil), name, reflect.TypeFor[S](), reflect.TypeFor[In](), reflect.TypeFor[Out](), opts)
	p.get = func(ctx context.Context, state any, values map[string]string) (*PromptResult, error) {
		var in In
		if err := p.arguments.DecodeTexts(values, &in); err != nil {
			return nil, Invalid("", err.Error())
		}
		s, _ := state.(*S)
		out, err := h(s, ctx, in)
		if err != nil {
			return nil, err
		}
		return promptResult(out)
	}
}

// AddPromptFunc adds a prompt that does not need the plugin's state; see
// [AddPrompt].
func AddPromptFunc[S, In, Out any](r Registry[S], name string, h func(context.Context, In) (Out, error), opts ...PromptOption) {
	AddPrompt(r, name, func(_ *S, ctx context.Context, in In) (Out, error) { return h(ctx, in) }, opts...)
}

func addPrompt(r *registry, name string, state, in, out reflect.Type, opts []PromptOption) *prompt {
	fault := r.faulter("prompt", name)
	o := promptOptionsOf(opts)
	o.check(fault)
	if !toolName.MatchString(name) {
		fault("the name does not match [A-Za-z0-9_.-]{1,128}")
	}
	if r.into.prompt[name] != nil {
		fault("added twice")
	}
	p := &prompt{decl: &pluginv1.Prompt{
		Name: name, Title: o.title, Description: o.description, Icons: o.icons, Meta: o.meta,
	}}
	var err error
	if p.arguments, err = schema.Texts(in, known()); err != nil {
		fault("arguments: %w", err)
		p.arguments = schema.Opaque()
	}
	for _, text := range p.arguments.Texts() {
		p.decl.Arguments = append(p.decl.Arguments, &pluginv1.PromptArgument{
			Name: text.Name, Description: valid(text.Description), Required: text.Required,
		})
	}
	if !promptable(out) {
		fault("%v is no prompt: it is text, a PromptMessage, a list of them, or a PromptResult", out)
	}
	p.completers = completersOf(o.completers, state, p.arguments, fault)
	r.into.prompts = append(r.into.prompts, p)
	r.into.prompt[name] = p
	return p
}

func promptable(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[PromptMessage](), reflect.TypeFor[[]PromptMessage](), reflect.TypeFor[PromptResult](), reflect.TypeFor[*PromptResult]():
		return true
	}
	return t.Kind() == reflect.String
}

// promptResult makes a PromptResult of whatever a handler returned.
func promptResult(out any) (*PromptResult, error) {
	switch out := out.(type) {
	case PromptMessage:
		return &PromptResult{Messages: []PromptMessage{out}}, nil
	case []PromptMessage:
		return &PromptResult{Messages: out}, nil
	case PromptResult:
		return &out, nil
	case *PromptResult:
		if out == nil {
			return nil, Failed("internal", errors.New("the handler returned neither a prompt nor an error"))
		}
		return out, nil
	}
	return &PromptResult{Messages: []PromptMessage{User(Text(reflect.ValueOf(out).String()))}}, nil
}

func (r *PromptResult) size() int {
	n := 0
	for _, m := range r.Messages {
		n += m.content.size()
	}
	return n
}

func (r *PromptResult) wire() *pluginv1.GetPromptResult {
	out := &pluginv1.GetPromptResult{Description: valid(r.Description), Meta: r.Meta}
	for _, m := range r.Messages {
		if m.content.wire != nil {
			out.Messages = append(out.Messages, &pluginv1.PromptMessage{Role: m.role, Content: m.content.wire})
		}
	}
	return out
}
