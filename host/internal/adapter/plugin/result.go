// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// assembly collects the parts of one result.
type assembly struct {
	structured []byte
	content    []tool.Content
	size       int
}

// perPart is what a part costs beside its own bytes, roughly: many small ones
// are not for nothing.
const perPart = 256

func (s *assembly) take(m *pluginv1.CallToolResponse) (out *tool.Result, taken bool, err error) {
	switch m := m.GetMessage().(type) {
	case *pluginv1.CallToolResponse_Part:
		return nil, true, s.add(m.Part)
	case *pluginv1.CallToolResponse_Result:
		out, err := s.result(m.Result)
		return out, true, err
	default:
		return nil, false, nil
	}
}

func (s *assembly) add(p *pluginv1.ResultPart) error {
	if s.size += proto.Size(p) + perPart; s.size > maxParts {
		return tooLarge()
	}
	switch part := p.GetPart().(type) {
	case *pluginv1.ResultPart_Structured:
		s.structured = append(s.structured, part.Structured...)
	case *pluginv1.ResultPart_Content:
		block, err := content(part.Content)
		if err != nil {
			return broken(err)
		}
		s.content = append(s.content, block)
	default:
		return broken(errors.New("a part of an unknown kind"))
	}
	return nil
}

// result is the whole: the parts, and what came with the end.
func (s *assembly) result(r *pluginv1.ToolResult) (*tool.Result, error) {
	structured := slices.Concat(s.structured, r.GetStructured())
	out := &tool.Result{Content: s.content, Cost: cost(r.GetUsage())}
	if r.Structured != nil || s.structured != nil {
		if !json.Valid(structured) {
			return nil, broken(errors.New("the structured content is not JSON"))
		}
		out.Structured = structured
	}
	for _, c := range r.GetContent() {
		block, err := content(c)
		if err != nil {
			return nil, broken(err)
		}
		out.Content = append(out.Content, block)
	}
	meta, err := object(r.GetMeta())
	if err != nil {
		return nil, broken(fmt.Errorf("_meta of the result: %w", err))
	}
	out.Meta = meta
	return out, nil
}

// cost is the plugin's word on what the call cost; anything but a plain decimal
// is none.
func cost(u *pluginv1.Usage) string {
	c := u.GetCost()
	if len(c) > 32 || strings.Trim(c, "0123456789.") != "" || strings.Count(c, ".") > 1 {
		return ""
	}
	return c
}

// content is one block.
func content(c *pluginv1.Content) (tool.Content, error) {
	meta, err := object(c.GetMeta())
	if err != nil {
		return nil, fmt.Errorf("_meta of a content block: %w", err)
	}
	notes := annotations(c.GetAnnotations())
	switch b := c.GetBlock().(type) {
	case *pluginv1.Content_Text:
		return &tool.Text{Text: b.Text.GetText(), Annotations: notes, Meta: meta}, nil
	case *pluginv1.Content_Image:
		return blob("image", b.Image, notes, meta)
	case *pluginv1.Content_Audio:
		return blob("audio", b.Audio, notes, meta)
	case *pluginv1.Content_ResourceLink:
		l := b.ResourceLink
		if l.GetUri() == "" || l.GetName() == "" {
			return nil, errors.New("a resource link without uri or name")
		}
		return &tool.Link{
			URI: l.GetUri(), Name: l.GetName(), Title: l.GetTitle(), Description: l.GetDescription(),
			MIMEType: l.GetMimeType(), Size: l.Size, Icons: icons(l.GetIcons()),
			Annotations: notes, Meta: meta,
		}, nil
	case *pluginv1.Content_Resource:
		out, err := contents(b.Resource)
		if err != nil {
			return nil, err
		}
		out.Annotations, out.Meta = notes, meta
		return out, nil
	default:
		return nil, errors.New("a content block of an unknown kind")
	}
}

// contents is a resource with its content.
func contents(r *pluginv1.ResourceContents) (*tool.Embedded, error) {
	inner, err := object(r.GetMeta())
	if err != nil {
		return nil, fmt.Errorf("_meta of a resource's contents: %w", err)
	}
	if r.GetUri() == "" {
		return nil, errors.New("a resource's contents without uri")
	}
	out := &tool.Embedded{URI: r.GetUri(), MIMEType: r.GetMimeType(), ContentMeta: inner}
	switch data := r.GetContents().(type) {
	case *pluginv1.ResourceContents_Text:
		out.Text = data.Text
	case *pluginv1.ResourceContents_Blob:
		out.Blob = data.Blob
		if out.Blob == nil {
			out.Blob = []byte{}
		}
	default:
		return nil, errors.New("a resource's contents without text or blob")
	}
	return out, nil
}

func blob(kind string, b *pluginv1.BlobContent, notes *tool.Annotations, meta json.RawMessage) (tool.Content, error) {
	if !strings.HasPrefix(b.GetMimeType(), kind+"/") {
		return nil, fmt.Errorf("an %s block with media type %.64q", kind, b.GetMimeType())
	}
	return &tool.Blob{Kind: kind, Data: b.GetData(), MIMEType: b.GetMimeType(), Annotations: notes, Meta: meta}, nil
}

func annotations(a *pluginv1.Annotations) *tool.Annotations {
	if a == nil {
		return nil
	}
	return &tool.Annotations{Audience: a.GetAudience(), Priority: number(a.Priority), LastModified: a.GetLastModified()}
}

// number is a number that JSON has: not NaN, not infinite.
func number(f *float64) *float64 {
	if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) {
		return nil
	}
	return f
}
