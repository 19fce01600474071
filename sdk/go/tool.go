// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"strings"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
	"github.com/toolwharf/toolwharf/sdk/go/internal/schema"
)

// tool is one registered tool.
type tool struct {
	decl   *pluginv1.Tool
	input  *schema.Type
	output *schema.Type  // nil: said by the handler itself
	given  *schema.Given // of InputSchema, if any
	call   handler
}

// handler runs a tool: decodes, calls, encodes.
type handler func(ctx context.Context, state any, args []byte) (*Result, error)

// AddTool adds a tool that works with the plugin's state; method expressions fit:
//
//	toolwharf.AddTool(p, "query", (*DB).Query, toolwharf.ReadOnly())
//
// In is a struct (struct{} for no arguments), a map with text keys, or
// json.RawMessage for the arguments as they came. Out is anything that can be
// marshalled, or [Result]. A schema of Out is given to clients unless Out is
// Result, json.RawMessage or an interface; one that is not of an object is
// wrapped as {"result": ...} by the host.
//
// The context of a call ends with the call's deadline or when the caller
// cancels: pass it on. Calls run at the same time. Mistakes of registration are
// reported by [Plugin.Serve], all at once.
func AddTool[S, In, Out any](r Registry[S], name string, h func(*S, context.Context, In) (Out, error), opts ...ToolOption) {
	t := addTool(r.registry(nil), name, reflect.TypeFor[In](), reflect.TypeFor[Out](), opts)
	t.call = func(ctx context.Context, state any, args []byte) (*Result, error) {
		var in In
		if err := t.decode(args, &in); err != nil {
			return nil, err
		}
		s, _ := state.(*S)
		out, err := h(s, ctx, in)
		if err != nil {
			return nil, err
		}
		return t.encode(out)
	}
}

// AddFunc adds a tool that does not need the plugin's state; see [AddTool].
func AddFunc[S, In, Out any](r Registry[S], name string, h func(context.Context, In) (Out, error), opts ...ToolOption) {
	AddTool(r, name, func(_ *S, ctx context.Context, in In) (Out, error) { return h(ctx, in) }, opts...)
}

var (
	toolName     = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
	typeResult   = reflect.TypeFor[Result]()
	typeRaw      = reflect.TypeFor[json.RawMessage]()
	maxSchemaLen = 64 << 10
)

func addTool(r *registry, name string, in, out reflect.Type, opts []ToolOption) *tool {
	t := &tool{decl: &pluginv1.Tool{Name: name}}
	fault := r.faulter("tool", name)
	o := &toolOptions{decl: t.decl}
	for _, opt := range opts {
		opt.applyTool(o)
	}
	if !toolName.MatchString(name) {
		fault("the name does not match [A-Za-z0-9_.-]{1,128}")
	}
	if r.into.tool[name] != nil {
		fault("added twice")
	}
	if len(o.effects) > 1 {
		fault("more than one of ReadOnly, Additive and Destructive")
	}
	for _, tag := range t.decl.GetTags() {
		if strings.TrimSpace(tag) != tag || tag == "" {
			fault("tag %q is empty or has spaces around it", tag)
		}
	}
	for _, q := range o.asks {
		if err := q.fault(); err != nil {
			fault("%w", err)
		}
	}
	var err error
	if t.input, err = schema.Input(in, known()); err != nil {
		t.input = schema.Opaque()
		if o.input == nil {
			fault("arguments: %w", err)
		}
	}
	t.decl.InputSchema = t.input.JSON
	if o.input != nil {
		if t.given, err = schema.Parse(o.input, true); err != nil {
			fault("InputSchema: %w", err)
		}
		t.decl.InputSchema = o.input
	}
	if hasOutputSchema(out) {
		if t.output, err = schema.Output(out, known()); err != nil {
			t.output = schema.Opaque()
			if o.output == nil {
				fault("result: %w", err)
			}
		}
		t.decl.OutputSchema = t.output.JSON
	}
	if o.output != nil {
		if _, err = schema.Parse(o.output, false); err != nil {
			fault("OutputSchema: %w", err)
		}
		t.decl.OutputSchema = o.output
	}
	for _, s := range [][]byte{t.decl.GetInputSchema(), t.decl.GetOutputSchema()} {
		if len(s) > maxSchemaLen {
			fault("a schema of %d bytes is larger than the %d that a host accepts", len(s), maxSchemaLen)
		}
	}
	o.check(fault)
	if o.required != nil && !isObject(o.required) {
		fault("Requires is not a JSON object")
	}
	t.decl.Title, t.decl.Description, t.decl.Icons, t.decl.Meta = o.title, o.description, o.icons, o.meta
	t.decl.RequiredClientCapabilities = o.required
	r.into.tools = append(r.into.tools, t)
	r.into.tool[name] = t
	return t
}

func hasOutputSchema(out reflect.Type) bool {
	for out.Kind() == reflect.Pointer {
		out = out.Elem()
	}
	return out != typeResult && out != typeRaw && out.Kind() != reflect.Interface
}

// decode reads arguments. The host has validated them: what fails here is
// beyond the schema, such as an integer that does not fit.
func (t *tool) decode(args []byte, in any) error {
	err := t.input.Decode(args, in)
	if field, ok := errors.AsType[*schema.FieldError](err); ok {
		return Invalid("", field.Error())
	}
	return err
}

// encode makes a Result of whatever a handler returned.
func (t *tool) encode(out any) (*Result, error) {
	switch out := out.(type) {
	case Result:
		return &out, nil
	case *Result:
		if out == nil {
			return nil, Failed("internal", errors.New("the handler returned neither a result nor an error"))
		}
		return out, nil
	case json.RawMessage:
		if out == nil {
			out = json.RawMessage("null")
		}
		return &Result{Structured: out}, nil
	}
	structured, err := t.output.Encode(out)
	if err != nil {
		return nil, Failed("result_not_json", err)
	}
	return &Result{Structured: structured}, nil
}

func emptyObject(data []byte) bool {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return true
	}
	var fields map[string]json.RawMessage
	return json.Unmarshal(data, &fields) == nil && len(fields) == 0
}

func isObject(data []byte) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(data, &fields) == nil && fields != nil
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
