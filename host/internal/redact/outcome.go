// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Outcome redacts whatever a call ended with, in place.
func (r *Redactor) Outcome(adapter string, out tool.Outcome) {
	switch o := out.(type) {
	case *tool.Result:
		r.Result(adapter, o)
	case *tool.Question:
		r.Question(adapter, o)
	}
}

// Result redacts texts, names, addresses, data and metadata of all blocks, and
// the structured content, in place; blocks that change are replaced, since others
// may hold them. A picture with a secret in its bytes is no picture afterwards.
func (r *Redactor) Result(adapter string, res *tool.Result) {
	m := r.matcher(adapter)
	if m == nil || res == nil {
		return
	}
	res.Structured, res.Meta, res.Description = m.json(res.Structured), m.json(res.Meta), m.text(res.Description)
	if res.Completion != nil {
		clean := *res.Completion
		clean.Values = slices.Clone(clean.Values)
		for i := range clean.Values {
			clean.Values[i] = m.text(clean.Values[i])
		}
		res.Completion = &clean
	}
	fresh := false
	for i, block := range res.Content {
		clean := m.block(block)
		if clean == block {
			continue
		}
		if !fresh {
			res.Content, fresh = slices.Clone(res.Content), true
		}
		res.Content[i] = clean
	}
}

// Question redacts what an adapter asks the user, in place. Its state is sealed
// before anybody sees it.
func (r *Redactor) Question(adapter string, q *tool.Question) {
	m := r.matcher(adapter)
	if m == nil || q == nil {
		return
	}
	for key, in := range q.Requests {
		in.Params = m.json(in.Params)
		q.Requests[key] = in
	}
}

// Event returns progress or a log message without secrets.
func (r *Redactor) Event(adapter string, e tool.Event) tool.Event {
	m := r.matcher(adapter)
	if m == nil {
		return e
	}
	switch e := e.(type) {
	case *tool.Progress:
		clean := *e
		clean.Message = m.text(e.Message)
		return &clean
	case *tool.Log:
		clean := *e
		clean.Logger, clean.Data = m.text(e.Logger), m.json(e.Data)
		return &clean
	default:
		return e
	}
}

// Error returns an error without secrets: text for the model, detail and cause
// for log and ledger. It is e itself if there is nothing to look for. The cause
// can still be told by errors.Is, and a ProtocolError, redacted, by errors.As;
// nothing else can be had from it.
func (r *Redactor) Error(adapter string, e *tool.Error) *tool.Error {
	m := r.matcher(adapter)
	if m == nil || e == nil {
		return e
	}
	clean := *e
	clean.Code, clean.Text, clean.Detail = m.text(e.Code), m.text(e.Text), m.text(e.Detail)
	clean.Needs = m.json(e.Needs)
	if e.Link != nil {
		if l, ok := m.block(e.Link).(*tool.Link); ok {
			clean.Link = l
		}
	}
	if e.Err != nil {
		clean.Err = m.cause(e.Err)
	}
	return &clean
}

// cause is an error that says what it should, and nothing else.
type cause struct {
	text     string
	err      error
	protocol *tool.ProtocolError // nil: none
}

func (m *matcher) cause(err error) error {
	c := &cause{text: m.text(err.Error()), err: err}
	if p, ok := errors.AsType[*tool.ProtocolError](err); ok {
		c.protocol = &tool.ProtocolError{Code: p.Code, Message: m.text(p.Message), Data: m.json(p.Data)}
	}
	return c
}

func (c *cause) Error() string { return c.text }

// Is looks into the cause without giving it away.
func (c *cause) Is(target error) bool { return errors.Is(c.err, target) }

// As gives the redacted ProtocolError.
func (c *cause) As(target any) bool {
	p, ok := target.(**tool.ProtocolError)
	if ok && c.protocol != nil {
		*p = c.protocol
		return true
	}
	return false
}

// block returns a block without secrets: itself if it has none.
func (m *matcher) block(block tool.Content) tool.Content {
	c := change{matcher: m}
	switch b := block.(type) {
	case *tool.Text:
		clean := *b
		c.texts(&clean.Text)
		c.values(&clean.Meta)
		c.annotations(&clean.Annotations)
		return pick(c.made, &clean, b)
	case *tool.Blob:
		clean := *b
		c.texts(&clean.MIMEType)
		c.data(&clean.Data)
		c.values(&clean.Meta)
		c.annotations(&clean.Annotations)
		return pick(c.made, &clean, b)
	case *tool.Link:
		clean := *b
		c.texts(&clean.URI, &clean.Name, &clean.Title, &clean.Description, &clean.MIMEType)
		clean.Icons = slices.Clone(b.Icons)
		for i := range clean.Icons {
			c.texts(&clean.Icons[i].Src, &clean.Icons[i].MIMEType, &clean.Icons[i].Theme)
		}
		c.values(&clean.Meta)
		c.annotations(&clean.Annotations)
		return pick(c.made, &clean, b)
	case *tool.Embedded:
		clean := *b
		c.texts(&clean.URI, &clean.MIMEType, &clean.Text)
		c.data(&clean.Blob)
		c.values(&clean.Meta, &clean.ContentMeta)
		c.annotations(&clean.Annotations)
		return pick(c.made, &clean, b)
	default:
		return block
	}
}

func pick[T tool.Content](changed bool, clean, as T) tool.Content {
	if changed {
		return clean
	}
	return as
}

// change redacts fields and remembers whether it did.
type change struct {
	*matcher

	made bool
}

func (c *change) texts(fields ...*string) {
	for _, f := range fields {
		if clean := c.text(*f); clean != *f {
			*f, c.made = clean, true
		}
	}
}

func (c *change) data(f *[]byte) {
	if len(find(c.matcher, *f)) > 0 {
		*f, c.made = c.bytes(*f), true
	}
}

func (c *change) values(fields ...*json.RawMessage) {
	for _, f := range fields {
		clean := c.json(*f)
		if len(clean) != len(*f) || (len(clean) > 0 && &clean[0] != &(*f)[0]) {
			*f, c.made = clean, true
		}
	}
}

func (c *change) annotations(f **tool.Annotations) {
	if *f == nil {
		return
	}
	clean := **f
	clean.Audience = slices.Clone(clean.Audience)
	inside := change{matcher: c.matcher}
	inside.texts(&clean.LastModified)
	for i := range clean.Audience {
		inside.texts(&clean.Audience[i])
	}
	if inside.made {
		*f, c.made = &clean, true
	}
}
