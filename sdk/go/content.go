// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"encoding/json"
	"regexp"
	"time"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// Content is one block of a [Result] or a [PromptMessage]; see [Text], [Image],
// [Audio], [Link], [Embed] and [EmbedText].
type Content struct{ wire *pluginv1.Content }

// Annotations are hints for clients (MCP Annotations).
type Annotations struct {
	// Audience is "user", "assistant", or both; none: nobody in particular.
	Audience []string
	// Priority is from 0, the least, to 1, the most important.
	Priority *float64
	// LastModified is when the content was changed; zero: unknown.
	LastModified time.Time
}

func (a Annotations) wire() *pluginv1.Annotations {
	out := &pluginv1.Annotations{Audience: a.Audience, Priority: a.Priority}
	if !a.LastModified.IsZero() {
		out.LastModified = a.LastModified.UTC().Format(time.RFC3339)
	}
	return out
}

// iconSource is what clients may load.
var iconSource = regexp.MustCompile(`^(https|data):`)

// Text is a block of text.
func Text(text string) Content {
	return Content{&pluginv1.Content{Block: &pluginv1.Content_Text{Text: &pluginv1.TextContent{Text: valid(text)}}}}
}

// Image is a picture: the bytes themselves, not base64, and their media type.
func Image(data []byte, mimeType string) Content {
	return Content{&pluginv1.Content{Block: &pluginv1.Content_Image{Image: blob(data, mimeType)}}}
}

// Audio is a sound: the bytes themselves, not base64, and their media type.
func Audio(data []byte, mimeType string) Content {
	return Content{&pluginv1.Content{Block: &pluginv1.Content_Audio{Audio: blob(data, mimeType)}}}
}

// Link names a resource that the client may read.
func Link(uri, name, mimeType string) Content {
	return Content{&pluginv1.Content{Block: &pluginv1.Content_ResourceLink{ResourceLink: &pluginv1.ResourceLink{
		Uri: valid(uri), Name: valid(name), MimeType: valid(mimeType),
	}}}}
}

// Embed is a resource with its content: the bytes themselves, not base64.
func Embed(uri, mimeType string, data []byte) Content {
	return embedded(&pluginv1.ResourceContents{
		Uri: valid(uri), MimeType: valid(mimeType), Contents: &pluginv1.ResourceContents_Blob{Blob: data},
	})
}

// EmbedText is a resource with its content, which is text.
func EmbedText(uri, mimeType, text string) Content {
	return embedded(&pluginv1.ResourceContents{
		Uri: valid(uri), MimeType: valid(mimeType), Contents: &pluginv1.ResourceContents_Text{Text: valid(text)},
	})
}

func blob(data []byte, mimeType string) *pluginv1.BlobContent {
	return &pluginv1.BlobContent{Data: data, MimeType: valid(mimeType)}
}

func embedded(r *pluginv1.ResourceContents) Content {
	return Content{&pluginv1.Content{Block: &pluginv1.Content_Resource{Resource: r}}}
}

// Annotated returns the block with hints for clients.
func (c Content) Annotated(a Annotations) Content {
	w := c.copied()
	w.Annotations = a.wire()
	return Content{w}
}

// WithMeta returns the block with one JSON object that is given to the client as
// its `_meta`.
func (c Content) WithMeta(object json.RawMessage) Content {
	w := c.copied()
	w.Meta = object
	return Content{w}
}

// copied is shallow: the block itself is never written to.
func (c Content) copied() *pluginv1.Content {
	return &pluginv1.Content{
		Block: c.wire.GetBlock(), Annotations: c.wire.GetAnnotations(), Meta: c.wire.GetMeta(),
	}
}

// Text is what a block of text, or an embedded resource that is text, says. Not ok:
// it is something else.
func (c Content) Text() (text string, ok bool) {
	switch b := c.wire.GetBlock().(type) {
	case *pluginv1.Content_Text:
		return b.Text.GetText(), true
	case *pluginv1.Content_Resource:
		t, ok := b.Resource.GetContents().(*pluginv1.ResourceContents_Text)
		if ok {
			return t.Text, true
		}
	}
	return "", false
}

// Blob is the bytes of a picture, a sound, or an embedded resource that is bytes,
// and their media type. Not ok: it is something else.
func (c Content) Blob() (data []byte, mimeType string, ok bool) {
	switch b := c.wire.GetBlock().(type) {
	case *pluginv1.Content_Image:
		return b.Image.GetData(), b.Image.GetMimeType(), true
	case *pluginv1.Content_Audio:
		return b.Audio.GetData(), b.Audio.GetMimeType(), true
	case *pluginv1.Content_Resource:
		if t, ok := b.Resource.GetContents().(*pluginv1.ResourceContents_Blob); ok {
			return t.Blob, b.Resource.GetMimeType(), true
		}
	}
	return nil, "", false
}

// URI is that of a link or an embedded resource; empty: it is something else.
func (c Content) URI() string {
	switch b := c.wire.GetBlock().(type) {
	case *pluginv1.Content_ResourceLink:
		return b.ResourceLink.GetUri()
	case *pluginv1.Content_Resource:
		return b.Resource.GetUri()
	}
	return ""
}

// WithText returns the block with another text, all else as it was. A block that has
// no text is returned as it is.
func (c Content) WithText(text string) Content {
	w := c.copied()
	switch b := c.wire.GetBlock().(type) {
	case *pluginv1.Content_Text:
		w.Block = &pluginv1.Content_Text{Text: &pluginv1.TextContent{Text: valid(text)}}
	case *pluginv1.Content_Resource:
		r := b.Resource
		if _, ok := r.GetContents().(*pluginv1.ResourceContents_Text); !ok {
			return c
		}
		w.Block = &pluginv1.Content_Resource{Resource: &pluginv1.ResourceContents{
			Uri: r.GetUri(), MimeType: r.GetMimeType(), Meta: r.GetMeta(),
			Contents: &pluginv1.ResourceContents_Text{Text: valid(text)},
		}}
	default:
		return c
	}
	return Content{w}
}

// size is what a block weighs against Limits.MaxResultBytes.
func (c Content) size() int {
	switch b := c.wire.GetBlock().(type) {
	case *pluginv1.Content_Text:
		return len(b.Text.GetText())
	case *pluginv1.Content_Image:
		return len(b.Image.GetData())
	case *pluginv1.Content_Audio:
		return len(b.Audio.GetData())
	case *pluginv1.Content_Resource:
		return len(b.Resource.GetText()) + len(b.Resource.GetBlob())
	}
	return 0
}
