// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// resultComplete is the resultType of a result that ends a request (MCP
// 2026-07-28, basic); older versions have none.
const resultComplete = "complete"

// reply is what a call is answered with: a *callResult, a *readResult or an
// *inputRequired.
type reply interface {
	mcpsdk.Result

	// complete says what every result says, to clients that expect it.
	complete(version string, server json.RawMessage)
	// append writes the result, and size is about how long it is then.
	append(b []byte) ([]byte, error)
	size() int
}

// callResult is an MCP CallToolResult. It is ours because the SDK's has an
// unexported resultType, which a middleware cannot set, and because the
// adapter's JSON passes through it untouched.
type callResult struct {
	tail

	// content is a JSON array, structured any JSON value; both compact.
	content, structured json.RawMessage
	isError             bool
}

// tail is what results have in common.
type tail struct {
	mcpsdk.ResultBase

	resultType string
	// server is who gives the result, nil to older clients; meta is what else
	// stands in _meta.
	server json.RawMessage
	meta   map[string]any
}

// complete says that the result ends the request and who gives it, to clients
// that expect it (MCP 2026-07-28, basic).
func (t *tail) complete(version string, server json.RawMessage) {
	if !modern(version) {
		return
	}
	t.resultType, t.server = resultComplete, server
}

// GetMeta is for the SDK, which says who the server is where nobody has.
func (t *tail) GetMeta() map[string]any { return serverMeta(t.server, &t.ResultBase) }

// append writes the last members of the result, and its end. There are others
// before them.
func (t *tail) append(b []byte) ([]byte, error) {
	if t.resultType != "" {
		b = append(b, `,"resultType":"`...)
		b = append(b, t.resultType...)
		b = append(b, '"')
	}
	if len(t.meta) == 0 && t.server == nil {
		return append(b, '}'), nil
	}
	b = append(b, `,"_meta":{`...)
	if t.server != nil {
		b = append(b, `"`+mcpsdk.MetaKeyServerInfo+`":`...)
		b = append(b, t.server...)
	}
	if len(t.meta) > 0 {
		meta, err := marshal(t.meta)
		if err != nil {
			return nil, fmt.Errorf("_meta: %w", err)
		}
		if t.server != nil {
			b = append(b, ',')
		}
		b = append(b, meta[1:len(meta)-1]...)
	}
	return append(b, "}}"...), nil
}

// metaOf fills in what an adapter says in _meta, whether the call is in the ledger,
// and whether the answer was given before.
func (t *tail) metaOf(r *tool.Result) error {
	meta, err := foreignMeta(r.Meta)
	if err != nil {
		return err
	}
	if len(meta) > 0 || r.Unrecorded || r.Cached {
		t.meta = make(map[string]any, len(meta)+2)
		for key, value := range meta {
			t.meta[key] = value
		}
	}
	if r.Unrecorded {
		t.meta[metaRecorded] = false
	}
	if r.Cached {
		t.meta[metaCached] = true
	}
	return nil
}

func serverMeta(server json.RawMessage, base *mcpsdk.ResultBase) map[string]any {
	if server != nil {
		return map[string]any{mcpsdk.MetaKeyServerInfo: server}
	}
	return base.GetMeta()
}

// MarshalJSON writes the result.
func (r *callResult) MarshalJSON() ([]byte, error) { return r.append(make([]byte, 0, r.size())) }

// size is about how long the result is when written.
func (r *callResult) size() int { return len(r.content) + len(r.structured) + len(r.server) + 256 }

func (r *callResult) append(b []byte) ([]byte, error) {
	b = append(b, `{"content":`...)
	b = append(b, r.content...)
	if r.structured != nil {
		b = append(b, `,"structuredContent":`...)
		b = append(b, r.structured...)
	}
	if r.isError {
		b = append(b, `,"isError":true`...)
	}
	return r.tail.append(b)
}

var _ reply = (*callResult)(nil)

// resultOf returns a result as clients see it. Structured content that is no
// object is wrapped, whether the output schema was or there is none: before
// 2026-07-28 it must be an object. An error means that the adapter's JSON is
// none.
func resultOf(r *tool.Result, wrapped bool) (*callResult, *tool.Error) {
	res := &callResult{}
	err := res.metaOf(r)
	if err != nil {
		return nil, unreadable(err)
	}
	if r.Structured != nil {
		if res.structured, err = compact(r.Structured); err != nil {
			return nil, unreadable(fmt.Errorf("structured content: %w", err))
		}
		if wrapped || res.structured[0] != '{' {
			res.structured = schema.WrapValue(res.structured)
		}
	}
	if len(r.Content) == 0 && res.structured != nil {
		res.content = textBlock(string(res.structured))
		return res, nil
	}
	if res.content, err = contentOf(r.Content); err != nil {
		return nil, unreadable(err)
	}
	return res, nil
}

// unreadable is a result that no client could read; without it the SDK would
// answer nothing at all.
func unreadable(err error) *tool.Error {
	e := tool.Failed("result_unreadable", err)
	e.Sent, e.Ran = true, tool.RanYes
	return e
}

// contentOf returns content blocks as a JSON array, never null.
func contentOf(blocks []tool.Content) (json.RawMessage, error) {
	b := make([]byte, 0, 64)
	b = append(b, '[')
	for i, block := range blocks {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendBlock(b, block); err != nil {
			return nil, fmt.Errorf("content block %d: %w", i, err)
		}
	}
	return append(b, ']'), nil
}

func textBlock(text string) json.RawMessage {
	b := make([]byte, 0, len(text)+len(text)/8+32)
	b = append(b, `[{"type":"text","text":`...)
	b = appendString(b, text)
	return append(b, "}]"...)
}

// appendBlock writes a ContentBlock (MCP 2026-07-28, server/tools).
func appendBlock(b []byte, block tool.Content) ([]byte, error) {
	switch c := block.(type) {
	case *tool.Text:
		b = append(b, `{"type":"text","text":`...)
		b = appendString(b, c.Text)
		return closeBlock(b, c.Annotations, c.Meta)
	case *tool.Blob:
		if c.Kind != "image" && c.Kind != "audio" {
			return nil, fmt.Errorf("of unknown kind %q", c.Kind)
		}
		b = append(b, `{"type":"`+c.Kind+`","data":"`...)
		b = base64.StdEncoding.AppendEncode(b, c.Data)
		b = append(b, `","mimeType":`...)
		b = appendString(b, c.MIMEType)
		return closeBlock(b, c.Annotations, c.Meta)
	case *tool.Link:
		return appendLink(b, c)
	case *tool.Embedded:
		return appendEmbedded(b, c)
	default:
		return nil, fmt.Errorf("of unknown type %T", block)
	}
}

func appendLink(b []byte, c *tool.Link) ([]byte, error) {
	b = append(b, `{"type":"resource_link","uri":`...)
	b = appendString(b, c.URI)
	b = append(b, `,"name":`...)
	b = appendString(b, c.Name)
	b = appendMember(b, "title", c.Title)
	b = appendMember(b, "description", c.Description)
	b = appendMember(b, "mimeType", c.MIMEType)
	if c.Size != nil {
		b = fmt.Appendf(b, `,"size":%d`, *c.Size)
	}
	if len(c.Icons) > 0 {
		icons, err := marshal(c.Icons)
		if err != nil {
			return nil, fmt.Errorf("icons: %w", err)
		}
		b = append(append(b, `,"icons":`...), icons...)
	}
	return closeBlock(b, c.Annotations, c.Meta)
}

func appendEmbedded(b []byte, c *tool.Embedded) ([]byte, error) {
	b, err := appendContents(append(b, `{"type":"resource","resource":`...), c)
	if err != nil {
		return nil, err
	}
	return closeBlock(b, c.Annotations, c.Meta)
}

// appendContents writes a resource with its content (MCP 2026-07-28,
// server/resources).
func appendContents(b []byte, c *tool.Embedded) ([]byte, error) {
	b = append(b, `{"uri":`...)
	b = appendString(b, c.URI)
	b = appendMember(b, "mimeType", c.MIMEType)
	if c.Blob != nil {
		b = append(b, `,"blob":"`...)
		b = base64.StdEncoding.AppendEncode(b, c.Blob)
		b = append(b, '"')
	} else {
		b = append(b, `,"text":`...)
		b = appendString(b, c.Text)
	}
	return closeBlock(b, nil, c.ContentMeta)
}

// closeBlock writes what every block may have, and its end.
func closeBlock(b []byte, a *tool.Annotations, meta json.RawMessage) ([]byte, error) {
	if a != nil {
		raw, err := marshal(a)
		if err != nil {
			return nil, fmt.Errorf("annotations: %w", err)
		}
		b = append(append(b, `,"annotations":`...), raw...)
	}
	foreign, err := foreignMeta(meta)
	if err != nil {
		return nil, err
	}
	if len(foreign) > 0 {
		raw, err := marshal(foreign)
		if err != nil {
			return nil, fmt.Errorf("_meta: %w", err)
		}
		b = append(append(b, `,"_meta":`...), raw...)
	}
	return append(b, '}'), nil
}

// appendMember writes a further member of an object unless its value is empty.
func appendMember(b []byte, key, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, `,"`+key+`":`...)
	return appendString(b, value)
}

// appendString writes s as a JSON string. What is not UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(b, s[start:i]...)
			b = append(b, "\uFFFD"...)
			start = i + n
		}
		i += n
	}
	return append(append(b, s[start:]...), '"')
}

// compact returns JSON without white space, digits as they are.
func compact(raw json.RawMessage) (json.RawMessage, error) {
	if !utf8.Valid(raw) {
		return nil, fmt.Errorf("not UTF-8")
	}
	var b bytes.Buffer
	b.Grow(len(raw))
	if err := json.Compact(&b, raw); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	return b.Bytes(), nil
}
