// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxElements of one message: messages within it, elements of its lists and
// entries of its maps. An empty one has two bytes on the wire and hundreds in
// memory: within MaxMessage a plugin could else take gigabytes of its host's.
const maxElements = 200_000

// frugal is the codec of protobuf for messages of a plugin.
type frugal struct{ encoding.CodecV2 }

func newCodec() encoding.CodecV2 { return frugal{encoding.GetCodecV2("proto")} }

// Unmarshal refuses a message of too many parts before any of it is made.
func (c frugal) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(proto.Message)
	if !ok || data.Len() <= 2*maxElements { // it cannot have so many
		return c.CodecV2.Unmarshal(data, v)
	}
	whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer whole.Free()
	if elements(whole.ReadOnlyData(), m.ProtoReflect().Descriptor(), maxElements) < 0 {
		return fmt.Errorf("the message has more than %d parts", maxElements)
	}
	return c.CodecV2.Unmarshal(mem.BufferSlice{whole}, v)
}

// elements takes from left what a message has, and returns early if it is more.
// What is malformed ends the count: it will be refused for that.
func elements(b []byte, d protoreflect.MessageDescriptor, left int) int {
	for len(b) > 0 && left >= 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return left
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			return left
		}
		field := d.Fields().ByNumber(number)
		if field != nil && kind == protowire.BytesType && (field.IsList() || field.Message() != nil) {
			left--
			if inner := field.Message(); inner != nil {
				value, _ := protowire.ConsumeBytes(b)
				left = elements(value, inner, left)
			}
		}
		b = b[n:]
	}
	return left
}
