// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

func decode(b []byte, m proto.Message) error {
	return newCodec().Unmarshal(mem.BufferSlice{mem.SliceBuffer(b)}, m)
}

func encoded(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestAMessageOfTooManyPartsIsRefusedWhateverThePartsAre(t *testing.T) {
	many := func(n int) map[string]proto.Message {
		catalog, blocks, faults := &pluginv1.Catalog{}, &pluginv1.ToolResult{}, &pluginv1.ConfigureResponse{}
		tags, asked := &pluginv1.Tool{}, &pluginv1.InputRequired{Requests: map[string]*pluginv1.InputRequest{}}
		for i := range n {
			catalog.Tools = append(catalog.Tools, &pluginv1.Tool{Title: "x"})
			blocks.Content = append(blocks.Content, textOf("x"))
			faults.Diagnostics = append(faults.Diagnostics, &pluginv1.Diagnostic{})
			tags.Tags = append(tags.Tags, "")
			if i <= n/2 { // each has a message of its own
				asked.Requests[strconv.Itoa(i)] = &pluginv1.InputRequest{}
			}
		}
		catalog.Tools[0].Title = strings.Repeat("x", 2*maxElements) // not counted: it is one
		return map[string]proto.Message{
			"tools":             catalog,
			"content blocks":    &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Result{Result: blocks}},
			"diagnostics":       faults,
			"strings in a list": &pluginv1.Catalog{Tools: []*pluginv1.Tool{tags}},
			"entries of a map":  asked,
		}
	}
	for name, m := range many(maxElements + 1) {
		if err := decode(encoded(t, m), m.ProtoReflect().New().Interface()); err == nil || !strings.Contains(err.Error(), "more than 200000 parts") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, m := range many(maxElements/2 - 10) {
		got := m.ProtoReflect().New().Interface()
		if err := decode(encoded(t, m), got); err != nil || !proto.Equal(got, m) {
			t.Errorf("half as many %s: %v", name, err)
		}
	}
}

func TestACallThatIsAnsweredWithDustFailsAndCostsTheAdapterNothing(t *testing.T) {
	dust := &pluginv1.ToolResult{}
	for range maxElements + 1 {
		dust.Content = append(dust.Content, &pluginv1.Content{})
	}
	in := moored(t, streams(&pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Result{Result: dust}}))
	out, err := in.Run(t.Context(), attempt(t, "get", `{}`))
	e := failure(t, out, err)
	if e.Kind != tool.ToolFailed || !e.Sent {
		t.Errorf("%+v", e)
	}
	expectWords(t, e.Err.Error(), "more than 200000 parts")
}

func FuzzElements(f *testing.F) {
	f.Add(encoded(f, only(textOf("x"))), 2)
	f.Add([]byte{0x22, 0x02, 0x0a, 0x00}, 0)
	f.Add(bytes.Repeat([]byte{0x0a, 0x00}, 100), 10)
	f.Fuzz(func(t *testing.T, b []byte, left int) {
		if left < 0 || left > len(b) {
			return
		}
		m := &pluginv1.CallToolResponse{}
		got := elements(b, m.ProtoReflect().Descriptor(), left)
		if got > left || got < -1 {
			t.Errorf("%d of %d are left", got, left)
		}
		if proto.Unmarshal(b, m) != nil {
			return
		}
		if n := len(m.GetResult().GetContent()); n > left && got >= 0 {
			t.Errorf("%d blocks were taken for at most %d", n, left)
		}
	})
}
