// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Form describes a struct that a person fills in: flat, and of what MCP clients
// can show (MCP 2026-07-28, PrimitiveSchemaDefinition). What an answer has beyond
// it is let pass and not read. All faults are joined.
func Form(t reflect.Type, known Known) (*Type, error) {
	return describe(t, known, true, (*builder).flat)
}

// passwordLike is what hosts refuse to let a form ask for: secrets go into the
// adapter's configuration, not through a model's client.
var passwordLike = regexp.MustCompile(`(?i)pass(word|phrase|code|wd)|secret|api.?key|access.?token|credential|(^|[^a-z])(pin|cvv|otp)([^a-z]|$)`)

func (b *builder) flat(root *jsonschema.Schema, where string) {
	root.AdditionalProperties = nil
	if len(root.Properties) == 0 {
		b.fault(where, "a form is a struct with fields")
	}
	for _, name := range propertyNames(root) {
		p := root.Properties[name]
		at := fmt.Sprintf("%s: field %q", where, name)
		if p.WriteOnly || passwordLike.MatchString(name) || passwordLike.MatchString(p.Title) || passwordLike.MatchString(p.Description) {
			b.fault(at, "asks for a secret, which no host lets a form do: let the operator configure it instead")
			continue
		}
		if fault := unshown(p); fault != "" {
			b.fault(at, "%s", fault)
		}
	}
}

// unshown says why no client can show a field; empty: all can.
func unshown(p *jsonschema.Schema) string {
	switch p.Type {
	case "boolean", "integer", "number":
		if len(p.Enum) > 0 {
			return "only text can be chosen of an enum"
		}
		return ""
	case "string":
		switch {
		case p.Pattern != "" || p.ContentEncoding != "":
			return "a form has no patterns and no bytes: take plain text"
		case !slices.Contains([]string{"", "email", "uri", "date", "date-time"}, p.Format):
			return fmt.Sprintf("format %q is not one of email, uri, date and date-time", p.Format)
		}
		return ""
	case "array":
		if p.Items == nil || p.Items.Type != "string" || len(p.Items.Enum) == 0 {
			return "a list in a form is a choice of several: of text, with an enum"
		}
		return ""
	}
	return "a form is flat: text, numbers, true or false, an enum or several of one"
}
