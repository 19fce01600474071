// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"encoding/json"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// Result is for handlers that want to say themselves what the client gets. A
// handler that returns any other type has its value marshalled as Structured.
type Result struct {
	// Content is what the model reads. Without it the host gives Structured as
	// one text block.
	Content []Content
	// Structured is any JSON value that fits the tool's [OutputSchema]; nil: none.
	Structured json.RawMessage
	// Meta is one JSON object, given to the client as `_meta`; nil: none.
	Meta json.RawMessage
	// Cost is what the call cost beyond the configured cost: an exact decimal in
	// the unit of the operator's budget, for example "0.004". Empty: nothing.
	Cost string
}

// Content is one block of a [Result]; see [Text], [Image], [Audio], [Link],
// [Embed] and [EmbedText].
type Content struct{ wire *pluginv1.Content }

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

// TextResult is a Result of one text block.
func TextResult(text string) Result { return Result{Content: []Content{Text(text)}} }

func blob(data []byte, mimeType string) *pluginv1.BlobContent {
	return &pluginv1.BlobContent{Data: data, MimeType: valid(mimeType)}
}

func embedded(r *pluginv1.ResourceContents) Content {
	return Content{&pluginv1.Content{Block: &pluginv1.Content_Resource{Resource: r}}}
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

func (r *Result) size() int {
	n := len(r.Structured)
	for _, c := range r.Content {
		n += c.size()
	}
	return n
}
