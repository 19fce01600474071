// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"

	"github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

func (in *instance) beforeRequest(a *tool.Attempt) *pluginv1.BeforeToolRequest {
	return &pluginv1.BeforeToolRequest{
		Tool: a.Hooked.Tool, Adapter: a.Hooked.Adapter, Arguments: a.Hooked.Args.Bytes(), Context: in.callContext(a),
	}
}

func before(r *pluginv1.BeforeToolResponse) (*tool.Judgement, error) {
	switch v := r.GetVerdict().(type) {
	case nil:
		return &tool.Judgement{}, nil
	case *pluginv1.BeforeToolResponse_EditedArguments:
		args, err := tool.ParseArgs(v.EditedArguments)
		if err != nil {
			return nil, broken(fmt.Errorf("edited arguments: %w", err))
		}
		return &tool.Judgement{Args: args}, nil
	case *pluginv1.BeforeToolResponse_Refusal:
		return &tool.Judgement{Refusal: refusal(v.Refusal)}, nil
	default: // of a later version; it may well be a refusal
		return nil, broken(fmt.Errorf("a verdict of an unknown kind, %T", v))
	}
}

func (in *instance) afterRequest(a *tool.Attempt) *pluginv1.AfterToolRequest {
	return &pluginv1.AfterToolRequest{
		Tool: a.Hooked.Tool, Adapter: a.Hooked.Adapter, Arguments: a.Hooked.Args.Bytes(),
		Result: wireResult(a.Hooked.Result), Context: in.callContext(a),
	}
}

func after(r *pluginv1.AfterToolResponse) (*tool.Judgement, error) {
	switch v := r.GetVerdict().(type) {
	case nil:
		return &tool.Judgement{}, nil
	case *pluginv1.AfterToolResponse_EditedResult:
		result, err := new(assembly).result(v.EditedResult)
		if err != nil {
			return nil, err
		}
		return &tool.Judgement{Result: result}, nil
	case *pluginv1.AfterToolResponse_Refusal:
		return &tool.Judgement{Refusal: refusal(v.Refusal)}, nil
	default: // as above
		return nil, broken(fmt.Errorf("a verdict of an unknown kind, %T", v))
	}
}

// refusal is a hook's reason.
func refusal(r *pluginv1.Refusal) *tool.Error {
	e := &tool.Error{
		Kind: tool.Denied, Code: r.GetCode(), Text: clipped(r.GetText(), maxErrorText), Detail: bounded(r.GetDetail()),
	}
	if !codeForm.MatchString(e.Code) {
		e.Code = "denied_by_hook"
	}
	if e.Text == "" {
		e.Text = "refused by a hook"
	}
	return e
}

// wireResult is a result as a hook gets it.
func wireResult(r *tool.Result) *pluginv1.ToolResult {
	out := &pluginv1.ToolResult{Structured: r.Structured, Meta: r.Meta}
	for _, block := range r.Content {
		out.Content = append(out.Content, wireContent(block))
	}
	return out
}

func wireContent(block tool.Content) *pluginv1.Content {
	switch b := block.(type) {
	case *tool.Text:
		return &pluginv1.Content{
			Block: &pluginv1.Content_Text{Text: &pluginv1.TextContent{Text: b.Text}}, Annotations: wireAnnotations(b.Annotations), Meta: b.Meta,
		}
	case *tool.Blob:
		data := &pluginv1.BlobContent{Data: b.Data, MimeType: b.MIMEType}
		c := &pluginv1.Content{Block: &pluginv1.Content_Image{Image: data}, Annotations: wireAnnotations(b.Annotations), Meta: b.Meta}
		if b.Kind == "audio" {
			c.Block = &pluginv1.Content_Audio{Audio: data}
		}
		return c
	case *tool.Link:
		l := &pluginv1.ResourceLink{
			Uri: b.URI, Name: b.Name, Title: b.Title, Description: b.Description, MimeType: b.MIMEType, Size: b.Size,
		}
		for _, i := range b.Icons {
			l.Icons = append(l.Icons, &pluginv1.Icon{Src: i.Src, MimeType: i.MIMEType, Sizes: i.Sizes, Theme: i.Theme})
		}
		return &pluginv1.Content{
			Block: &pluginv1.Content_ResourceLink{ResourceLink: l}, Annotations: wireAnnotations(b.Annotations), Meta: b.Meta,
		}
	case *tool.Embedded:
		r := &pluginv1.ResourceContents{Uri: b.URI, MimeType: b.MIMEType, Meta: b.ContentMeta}
		if b.Blob != nil {
			r.Contents = &pluginv1.ResourceContents_Blob{Blob: b.Blob}
		} else {
			r.Contents = &pluginv1.ResourceContents_Text{Text: b.Text}
		}
		return &pluginv1.Content{
			Block: &pluginv1.Content_Resource{Resource: r}, Annotations: wireAnnotations(b.Annotations), Meta: b.Meta,
		}
	default:
		return &pluginv1.Content{}
	}
}

func wireAnnotations(a *tool.Annotations) *pluginv1.Annotations {
	if a == nil {
		return nil
	}
	return &pluginv1.Annotations{Audience: a.Audience, Priority: a.Priority, LastModified: a.LastModified}
}
