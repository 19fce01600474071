// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

func TestWhatAPluginGivesIsWhatTheHostGets(t *testing.T) {
	half, size := 0.5, int64(7)
	embedded := func(r *pluginv1.ResourceContents) *pluginv1.Content {
		return &pluginv1.Content{Block: &pluginv1.Content_Resource{Resource: r}}
	}
	for name, tc := range map[string]struct {
		stream []*pluginv1.CallToolResponse
		want   *tool.Result
	}{
		"nothing": {
			[]*pluginv1.CallToolResponse{finally(&pluginv1.ToolResult{})},
			&tool.Result{},
		},
		"structured content, digit by digit": {
			[]*pluginv1.CallToolResponse{finally(&pluginv1.ToolResult{Structured: []byte(` {"n": 1.50} `)})},
			&tool.Result{Structured: json.RawMessage(` {"n": 1.50} `)},
		},
		"structured content in parts": {
			[]*pluginv1.CallToolResponse{piece(`{"a"`), piece(`:1`), finally(&pluginv1.ToolResult{Structured: []byte(`}`)})},
			&tool.Result{Structured: json.RawMessage(`{"a":1}`)},
		},
		"content in parts": {
			[]*pluginv1.CallToolResponse{block(textOf("1")), block(textOf("2")), only(textOf("3"))},
			&tool.Result{Content: []tool.Content{&tool.Text{Text: "1"}, &tool.Text{Text: "2"}, &tool.Text{Text: "3"}}},
		},
		"meta and cost": {
			[]*pluginv1.CallToolResponse{finally(&pluginv1.ToolResult{Meta: []byte(`{"a":1}`), Usage: &pluginv1.Usage{Cost: "0.0125"}})},
			&tool.Result{Meta: json.RawMessage(`{"a":1}`), Cost: "0.0125"},
		},
		"a cost that is no plain decimal": {
			[]*pluginv1.CallToolResponse{finally(&pluginv1.ToolResult{Usage: &pluginv1.Usage{Cost: "-1e9"}})},
			&tool.Result{},
		},
		"text with annotations and meta": {
			[]*pluginv1.CallToolResponse{only(&pluginv1.Content{
				Block: textOf("hi").GetBlock(), Meta: []byte(`{"k":"v"}`),
				Annotations: &pluginv1.Annotations{Audience: []string{"user"}, Priority: &half, LastModified: "2026-01-01"},
			})},
			&tool.Result{Content: []tool.Content{&tool.Text{
				Text: "hi", Meta: json.RawMessage(`{"k":"v"}`),
				Annotations: &tool.Annotations{Audience: []string{"user"}, Priority: &half, LastModified: "2026-01-01"},
			}}},
		},
		"a priority that JSON does not have": {
			[]*pluginv1.CallToolResponse{only(&pluginv1.Content{
				Block: textOf("hi").GetBlock(), Annotations: &pluginv1.Annotations{Priority: new(math.NaN())},
			})},
			&tool.Result{Content: []tool.Content{&tool.Text{Text: "hi", Annotations: &tool.Annotations{}}}},
		},
		"a picture and a sound": {
			[]*pluginv1.CallToolResponse{finally(&pluginv1.ToolResult{Content: []*pluginv1.Content{
				{Block: &pluginv1.Content_Image{Image: &pluginv1.BlobContent{Data: []byte{1}, MimeType: "image/png"}}},
				{Block: &pluginv1.Content_Audio{Audio: &pluginv1.BlobContent{Data: []byte{2}, MimeType: "audio/wav"}}},
			}})},
			&tool.Result{Content: []tool.Content{
				&tool.Blob{Kind: "image", Data: []byte{1}, MIMEType: "image/png"},
				&tool.Blob{Kind: "audio", Data: []byte{2}, MIMEType: "audio/wav"},
			}},
		},
		"a link, with the icons that may be shown": {
			[]*pluginv1.CallToolResponse{only(&pluginv1.Content{Block: &pluginv1.Content_ResourceLink{ResourceLink: &pluginv1.ResourceLink{
				Uri: "file:///a", Name: "a", Title: "A", Description: "d", MimeType: "text/plain", Size: &size,
				Icons: []*pluginv1.Icon{{Src: "https://x/i.png"}, {Src: "http://x/i.png"}, {Src: "javascript:alert(1)"}, {Src: "data:image/png;base64,AA=="}},
			}}})},
			&tool.Result{Content: []tool.Content{&tool.Link{
				URI: "file:///a", Name: "a", Title: "A", Description: "d", MIMEType: "text/plain", Size: &size,
				Icons: []tool.Icon{{Src: "https://x/i.png"}, {Src: "data:image/png;base64,AA=="}},
			}}},
		},
		"embedded resources": {
			[]*pluginv1.CallToolResponse{finally(&pluginv1.ToolResult{Content: []*pluginv1.Content{
				embedded(&pluginv1.ResourceContents{Uri: "x:1", Meta: []byte(`{}`), Contents: &pluginv1.ResourceContents_Text{Text: "t"}}),
				embedded(&pluginv1.ResourceContents{Uri: "x:2", MimeType: "a/b", Contents: &pluginv1.ResourceContents_Blob{Blob: []byte{3}}}),
				embedded(&pluginv1.ResourceContents{Uri: "x:3", Contents: &pluginv1.ResourceContents_Blob{}}),
			}})},
			&tool.Result{Content: []tool.Content{
				&tool.Embedded{URI: "x:1", Text: "t", ContentMeta: json.RawMessage(`{}`)},
				&tool.Embedded{URI: "x:2", MIMEType: "a/b", Blob: []byte{3}},
				&tool.Embedded{URI: "x:3", Blob: []byte{}},
			}},
		},
		"what comes after the result does not count": {
			[]*pluginv1.CallToolResponse{only(textOf("1")), only(textOf("2")), said(&pluginv1.CallError{Text: "3"})},
			&tool.Result{Content: []tool.Content{&tool.Text{Text: "1"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := result(t, moored(t, streams(tc.stream...)), attempt(t, "get", `{}`))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPluginThatDoesNotKeepToTheProtocolFails(t *testing.T) {
	onePart := func(p *pluginv1.ResultPart) []*pluginv1.CallToolResponse {
		return []*pluginv1.CallToolResponse{inPart(p), finally(&pluginv1.ToolResult{})}
	}
	one := func(c *pluginv1.Content) []*pluginv1.CallToolResponse { return []*pluginv1.CallToolResponse{only(c)} }
	for name, tc := range map[string]struct {
		stream []*pluginv1.CallToolResponse
		why    string
	}{
		"an empty stream":                 {nil, "the stream ended without a result"},
		"parts without an end":            {[]*pluginv1.CallToolResponse{piece(`{}`)}, "the stream ended without a result"},
		"a message of a later version":    {[]*pluginv1.CallToolResponse{{}}, "a message of an unknown kind"},
		"a part of a later version":       {onePart(&pluginv1.ResultPart{}), "a part of an unknown kind"},
		"a block of a later version":      {one(&pluginv1.Content{}), "a content block of an unknown kind"},
		"such a block in a part":          {[]*pluginv1.CallToolResponse{block(&pluginv1.Content{})}, "a content block of an unknown kind"},
		"structured content that is none": {[]*pluginv1.CallToolResponse{finally(&pluginv1.ToolResult{Structured: []byte(`{`)})}, "not JSON"},
		"empty structured content":        {[]*pluginv1.CallToolResponse{finally(&pluginv1.ToolResult{Structured: []byte{}})}, "not JSON"},
		"parts that are no whole":         {[]*pluginv1.CallToolResponse{piece(`{}`), piece(`{}`), finally(&pluginv1.ToolResult{})}, "not JSON"},
		"meta that is no object":          {[]*pluginv1.CallToolResponse{finally(&pluginv1.ToolResult{Meta: []byte(`[]`)})}, "_meta of the result: not an object"},
		"meta of a block that is none":    {one(&pluginv1.Content{Block: textOf("").GetBlock(), Meta: []byte(`{"a":1,"a":2}`)}), "_meta of a content block: duplicate key"},
		"a picture that is a sound": {
			one(&pluginv1.Content{Block: &pluginv1.Content_Image{Image: &pluginv1.BlobContent{MimeType: "audio/wav"}}}),
			`an image block with media type "audio/wav"`,
		},
		"a link that leads nowhere": {
			one(&pluginv1.Content{Block: &pluginv1.Content_ResourceLink{ResourceLink: &pluginv1.ResourceLink{Name: "a"}}}),
			"a resource link without uri or name",
		},
		"a resource without uri": {
			one(&pluginv1.Content{Block: &pluginv1.Content_Resource{Resource: &pluginv1.ResourceContents{Contents: &pluginv1.ResourceContents_Text{}}}}),
			"a resource's contents without uri",
		},
		"a resource without content": {
			one(&pluginv1.Content{Block: &pluginv1.Content_Resource{Resource: &pluginv1.ResourceContents{Uri: "x:"}}}),
			"a resource's contents without text or blob",
		},
		"a resource with bad meta": {
			one(&pluginv1.Content{Block: &pluginv1.Content_Resource{Resource: &pluginv1.ResourceContents{Uri: "x:", Meta: []byte(`1`)}}}),
			"_meta of a resource's contents: not an object",
		},
		"a question about nothing": {
			[]*pluginv1.CallToolResponse{{Message: &pluginv1.CallToolResponse_InputRequired{InputRequired: &pluginv1.InputRequired{}}}},
			"a question without requests and without state",
		},
		"a question that is no JSON": {
			[]*pluginv1.CallToolResponse{{Message: &pluginv1.CallToolResponse_InputRequired{InputRequired: &pluginv1.InputRequired{
				Requests: map[string]*pluginv1.InputRequest{"q": {Params: []byte(`{`)}},
			}}}},
			`params of question "q"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := moored(t, streams(tc.stream...)).Run(t.Context(), attempt(t, "get", `{}`))
			e := failure(t, out, err)
			if e.Kind != tool.ToolFailed || e.Code != "protocol_violation" || !e.Sent || e.Text != "tool_failed: protocol_violation" {
				t.Errorf("%+v", e)
			}
			expectWords(t, e.Error(), tc.why)
		})
	}
}

func TestAResultInPartsIsBoundedWhateverItIsMadeOf(t *testing.T) {
	mebi := strings.Repeat("x", 1<<20)
	meta := textOf("")
	meta.Meta = []byte(`{"a":"` + mebi + `"}`)
	for name, p := range map[string]*pluginv1.CallToolResponse{
		"structured content": piece(mebi),
		"text":               block(textOf(mebi)),
		"meta":               block(meta),
		"a link's title": block(&pluginv1.Content{Block: &pluginv1.Content_ResourceLink{ResourceLink: &pluginv1.ResourceLink{
			Uri: "x:", Name: "x", Title: mebi,
		}}}),
		"many small blocks": block(textOf("")),
	} {
		t.Run(name, func(t *testing.T) {
			sent := 0
			over := make(chan struct{})
			in := moored(t, &server{call: func(_ *pluginv1.CallToolRequest, s grpc.ServerStreamingServer[pluginv1.CallToolResponse]) error {
				defer close(over)
				for { // until the host gives up
					if err := s.Send(p); err != nil {
						return err
					}
					sent++
				}
			}})
			out, err := in.Run(t.Context(), attempt(t, "get", `{}`))
			<-over
			if e := failure(t, out, err); e.Kind != tool.ResultTooLarge || e.Code != "result_too_large" || !e.Sent {
				t.Errorf("after %d parts: %+v", sent, e)
			}
			if few := 2 * maxParts / perPart; sent > few {
				t.Errorf("%d parts were taken, though %d are too many", sent, few)
			}
		})
	}
}
