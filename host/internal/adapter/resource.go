// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yosida95/uritemplate/v3"

	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Bounds of what one adapter may have beside tools. Families are fewer: each is
// asked about a URI that nobody declares.
const (
	MaxResources = 1000
	MaxFamilies  = 100
	MaxPrompts   = 1000
)

const (
	maxURI       = 2 << 10
	maxArguments = 64
	// maxVariables bounds what it costs to match a URI: about a millisecond for
	// the longest and the worst template.
	maxVariables = 16
	ownScheme    = "toolwharf:"
)

// scheme is how an absolute URI begins (RFC 3986, 3.1).
var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

func uriOf(r tool.Resource) string { return r.URI }

// resource makes one resource fit.
func (l *list) resource(r tool.Resource) (*registry.Offer, error) {
	if _, err := url.Parse(r.URI); err != nil || strings.ContainsAny(r.URI, "{}") {
		return nil, errors.New("its URI cannot be read")
	}
	return l.readable(r, tool.ResourceName(r.URI))
}

// family makes a family of resources fit.
func (l *list) family(r tool.Resource) (*registry.Offer, error) {
	o, err := l.readable(r, tool.ResourceName(r.URI))
	if err != nil {
		return nil, err
	}
	o.Family, err = members(r.URI)
	return o, err
}

// members compiles a template (RFC 6570).
func members(template string) (*regexp.Regexp, error) {
	t, err := uritemplate.New(template)
	if err != nil {
		return nil, fmt.Errorf("its template: %w", err)
	}
	if n := len(t.Varnames()); n == 0 || n > maxVariables || strings.Count(template, "{") > maxVariables {
		return nil, fmt.Errorf("its template has no variable, or more than %d", maxVariables)
	}
	return t.Regexp(), nil
}

func (l *list) readable(r tool.Resource, name string) (*registry.Offer, error) {
	switch {
	case len(r.URI) > maxURI:
		return nil, fmt.Errorf("its URI has more than %d bytes", maxURI)
	case !utf8.ValidString(r.URI) || strings.ContainsFunc(r.URI, func(c rune) bool { return unicode.IsSpace(c) || !unicode.IsPrint(c) }):
		return nil, errors.New("its URI has characters that none has")
	case !scheme.MatchString(r.URI):
		return nil, errors.New("its URI does not begin with a scheme")
	case strings.HasPrefix(strings.ToLower(r.URI), ownScheme):
		return nil, errors.New("the scheme " + ownScheme + " is the host's")
	case r.Name == "":
		return nil, errors.New("it has no name")
	}
	if err := wordy(r.Title, r.Description); err != nil {
		return nil, err
	}
	for _, text := range []*string{&r.Name, &r.Title, &r.Description, &r.MIMEType} {
		*text = strings.ToValidUTF8(*text, "\uFFFD")
	}
	input, err := l.schemas.Compile(json.RawMessage(`{"type":"object","maxProperties":0}`), schema.Input)
	if err != nil {
		return nil, err
	}
	o := &registry.Offer{Resource: &r, Input: input, Spec: tool.Spec{
		Op: tool.OpResource, Name: name, Adapter: l.desired.Name, Declared: r.URI, Title: r.Title, Description: r.Description,
		Effects: tool.ReadOnly, Idempotent: true, Icons: r.Icons, Meta: r.Meta,
	}}
	o.Spec.Seal()
	return o, nil
}

// wordy bounds what is for people and models.
func wordy(title, description string) error {
	if len(title) > maxTitle || len(description) > maxDescription {
		return fmt.Errorf("its title or description is longer than %d or %d bytes", maxTitle, maxDescription)
	}
	return nil
}
