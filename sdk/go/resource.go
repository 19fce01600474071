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
	"github.com/toolwharf/toolwharf/sdk/go/internal/uritemplate"
)

// resource is one registered resource, fixed or a family of them.
type resource struct {
	fixed        *pluginv1.Resource         // nil: a family
	family       *pluginv1.ResourceTemplate // nil: a fixed one
	pattern      *uritemplate.Template      // of a family
	variables    *schema.Type
	output       *schema.Type // of what is marshalled
	subscribable bool
	completers   map[string]*completer
	read         reader
}

// reader reads a resource: decodes the variables, calls, encodes.
type reader func(ctx context.Context, state any, uri string, values map[string]string) ([]Contents, error)

// Contents is a resource, or a part of it, with its content.
type Contents struct {
	// URI is absolute; empty: the one that was asked for.
	URI string
	// MIMEType is the media type; empty: the one that was declared.
	MIMEType string
	// Text is the content, unless there is a Blob.
	Text string
	// Blob is the content, the bytes themselves; nil: it is Text.
	Blob []byte
	// Meta is one JSON object, given to the client as `_meta`; nil: none.
	Meta json.RawMessage
}

// ResourceNotFound says that there is no resource of that URI, or that this caller
// may not know of one. Its kind is KindArgsInvalid and its code "resource_not_found":
// to clients it is MCP's own error for this, "invalid params" (MCP 2026-07-28).
func ResourceNotFound(uri string) *Error {
	return Invalid("resource_not_found", "there is no resource "+uri)
}

// AddResource adds a resource with a fixed absolute URI and a short name; method
// expressions of the plugin's state fit:
//
//	toolwharf.AddResource(p, "shop://terms", "terms", (*Shop).Terms, toolwharf.MIMEType("text/markdown"))
//
// Out is text, which is text/plain unless [MIMEType] says otherwise; []byte, which
// is application/octet-stream; [Contents] or a list of them, for a handler that says
// all itself; or anything else that can be marshalled, which is application/json. A
// handler that finds nothing returns [ResourceNotFound].
func AddResource[S, Out any](r Registry[S], uri, name string, h func(*S, context.Context) (Out, error), opts ...ResourceOption) {
	res := addResource(r.registry(nil), uri, name, reflect.TypeFor[Out](), opts)
	res.read = func(ctx context.Context, state any, uri string, _ map[string]string) ([]Contents, error) {
		s, _ := state.(*S)
		out, err := h(s, ctx)
		if err != nil {
			return nil, err
		}
		return res.contents(uri, out)
	}
}

// AddResourceFunc adds a resource that does not need the plugin's state; see
// [AddResource].
func AddResourceFunc[S, Out any](r Registry[S], uri, name string, h func(context.Context) (Out, error), opts ...ResourceOption) {
	AddResource(r, uri, name, func(_ *S, ctx context.Context) (Out, error) { return h(ctx) }, opts...)
}

// AddTemplate adds a family of resources: all whose URI an RFC 6570 template stands
// for.
//
//	toolwharf.AddTemplate(p, "shop://orders/{id}{?part}", "orders", (*Shop).Order)
//
// In is a struct with a field for each variable: text, a number, true or false, or
// what reads itself from text, with the tags that arguments of tools may have;
// variables of the query are optional. A URI whose values do not fit is none of the
// family. Values are decoded: one may be "../..".
//
// Templates may have {var}, {+var}, {#var}, {.var}, {/var}, {;var}, and {?a,b} or
// {&a,b} at the end. A fixed URI comes before templates, and those in the order in
// which they were added. Out is as in [AddResource]; [Complete] helps people who
// type a value.
func AddTemplate[S, In, Out any](r Registry[S], template, name string, h func(*S, context.Context, In) (Out, error), opts ...ResourceOption) {
	res := addTemplate(r.registry(nil), template, name, reflect.TypeFor[S](), reflect.TypeFor[In](), reflect.TypeFor[Out](), opts)
	res.read = func(ctx context.Context, state any, uri string, values map[string]string) ([]Contents, error) {
		var in In
		if res.variables.DecodeTexts(values, &in) != nil {
			return nil, ResourceNotFound(uri)
		}
		s, _ := state.(*S)
		out, err := h(s, ctx, in)
		if err != nil {
			return nil, err
		}
		return res.contents(uri, out)
	}
}

// AddTemplateFunc adds a family of resources that does not need the plugin's state;
// see [AddTemplate].
func AddTemplateFunc[S, In, Out any](r Registry[S], template, name string, h func(context.Context, In) (Out, error), opts ...ResourceOption) {
	AddTemplate(r, template, name, func(_ *S, ctx context.Context, in In) (Out, error) { return h(ctx, in) }, opts...)
}

var (
	typeContents  = reflect.TypeFor[Contents]()
	typeContentsL = reflect.TypeFor[[]Contents]()
	typeBytes     = reflect.TypeFor[[]byte]()
)

func addResource(r *registry, uri, name string, out reflect.Type, opts []ResourceOption) *resource {
	fault := r.faulter("resource", uri)
	o := resourceOptionsOf(opts)
	if err := uritemplate.Absolute(uri); err != nil {
		fault("the URI %w", err)
	}
	if r.into.resource[uri] != nil {
		fault("added twice")
	}
	if len(o.completers) > 0 {
		fault("Complete is for templates: a fixed URI has no variables")
	}
	res := &resource{subscribable: o.subscribable}
	res.describe(o, name, out, fault)
	res.fixed = &pluginv1.Resource{
		Uri: uri, Name: o.name, Title: o.title, Description: o.description, MimeType: o.mimeType,
		Size: o.size, Annotations: o.annotations, Icons: o.icons, Meta: o.meta,
	}
	r.into.resources = append(r.into.resources, res)
	r.into.resource[uri] = res
	return res
}

func addTemplate(r *registry, template, name string, state, in, out reflect.Type, opts []ResourceOption) *resource {
	fault := r.faulter("template", template)
	o := resourceOptionsOf(opts)
	res := &resource{subscribable: o.subscribable}
	res.describe(o, name, out, fault)
	var err error
	if res.variables, err = schema.Texts(in, known()); err != nil {
		fault("variables: %w", err)
		res.variables = schema.Opaque()
	}
	if res.pattern, err = uritemplate.Parse(template); err != nil {
		fault("the template %w", err)
		res.pattern = new(uritemplate.Template)
	} else {
		res.agree(in, fault)
	}
	if o.size != nil {
		fault("Size is for one resource, and a template stands for many")
	}
	if r.into.template[template] != nil {
		fault("added twice")
	}
	res.completers = completersOf(o.completers, state, res.variables, fault)
	res.family = &pluginv1.ResourceTemplate{
		UriTemplate: template, Name: o.name, Title: o.title, Description: o.description, MimeType: o.mimeType,
		Annotations: o.annotations, Icons: o.icons, Meta: o.meta,
	}
	r.into.templates = append(r.into.templates, res)
	r.into.template[template] = res
	return res
}

// agree says where a template and the type of its variables differ.
func (r *resource) agree(in reflect.Type, fault func(string, ...any)) {
	fields := map[string]bool{}
	for _, text := range r.variables.Texts() {
		fields[text.Name] = true
		if text.Required && r.pattern.Optional(text.Name) {
			fault("%v: field %q is required, and a variable of the query may be absent: give it a default, omitempty or a pointer", in, text.Name)
		}
	}
	for _, name := range r.pattern.Names() {
		if !fields[name] {
			fault("%v has no field for the variable %q", in, name)
		}
		delete(fields, name)
	}
	for name := range fields {
		fault("%v: field %q is no variable of the template", in, name)
	}
}

// describe fills in what is the same for fixed resources and families.
func (r *resource) describe(o *resourceOptions, name string, out reflect.Type, fault func(string, ...any)) {
	o.name = valid(name)
	if name == "" {
		fault("it has no name")
	}
	for out.Kind() == reflect.Pointer {
		out = out.Elem()
	}
	media := ""
	switch {
	case out == typeContents || out == typeContentsL:
	case out.Kind() == reflect.String && !selfMarshalled(out):
		media = "text/plain"
	case out == typeBytes:
		media = "application/octet-stream"
	default:
		media = "application/json"
		var err error
		if r.output, err = schema.Output(out, known()); err != nil {
			fault("contents: %w", err)
		}
	}
	o.mimeType = orElse(o.mimeType, media)
	o.check(fault)
}

// contents makes Contents of whatever a handler returned.
func (r *resource) contents(uri string, out any) ([]Contents, error) {
	var list []Contents
	switch out := out.(type) {
	case Contents:
		list = []Contents{out}
	case *Contents:
		if out == nil {
			return nil, Failed("internal", errors.New("the handler returned neither contents nor an error"))
		}
		list = []Contents{*out}
	case []Contents:
		list = append(list, out...)
	case []byte:
		list = []Contents{{Blob: append([]byte{}, out...)}}
	default:
		text := reflect.ValueOf(out)
		if text.IsValid() && text.Kind() == reflect.String && r.output == nil {
			list = []Contents{{Text: text.String()}}
			break
		}
		data, err := r.output.Encode(out)
		if err != nil {
			return nil, Failed("result_not_json", err)
		}
		list = []Contents{{Text: string(data)}}
	}
	for i := range list {
		list[i].URI = orElse(list[i].URI, uri)
		list[i].MIMEType = orElse(list[i].MIMEType, r.mimeType())
		if err := uritemplate.Absolute(list[i].URI); err != nil {
			return nil, Failed("resource_uri", err)
		}
	}
	return list, nil
}

func (r *resource) mimeType() string {
	if r.fixed != nil {
		return r.fixed.GetMimeType()
	}
	return r.family.GetMimeType()
}

func (c Contents) wire() *pluginv1.ResourceContents {
	out := &pluginv1.ResourceContents{Uri: c.URI, MimeType: valid(c.MIMEType), Meta: c.Meta}
	if c.Blob != nil {
		out.Contents = &pluginv1.ResourceContents_Blob{Blob: c.Blob}
	} else {
		out.Contents = &pluginv1.ResourceContents_Text{Text: valid(c.Text)}
	}
	return out
}

func selfMarshalled(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())
}
