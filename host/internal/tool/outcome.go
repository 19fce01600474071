// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import "encoding/json"

// Outcome is how a call ended, unless it ended in an *Error: *Result,
// *Question or *Pending.
type Outcome interface{ outcome() }

// Result is a call that succeeded. It is owned by whoever holds it last:
// filters may change it in place.
type Result struct {
	// Content is for the model. Empty, with Structured: faces give the
	// structured content as one text block.
	Content []Content
	// Roles are those of a prompt's messages, one for each block of Content:
	// "user" or "assistant". Description says what the prompt is for.
	Roles       []string
	Description string
	// Completion is what a completion proposes, nil for any other call.
	Completion *Completion
	// Structured is any JSON value, nil if absent.
	Structured json.RawMessage
	// Meta is one JSON object for the client, nil if absent.
	Meta json.RawMessage
	// Cost is an exact decimal in the unit of the budget, empty if unknown.
	Cost string
	// Unrecorded: the call ran and the ledger does not say so yet.
	Unrecorded bool
	// Cached: it was given to an equal call before.
	Cached bool
}

// Question asks the client for something before the call can end.
type Question struct {
	// Requests are MCP requests by key.
	Requests map[string]InputRequest
	// State comes back with the answers: the adapter's own on its way to the
	// executor, sealed on its way to the client.
	State []byte
}

// InputRequest is one question.
type InputRequest struct {
	Method string
	Params json.RawMessage
}

// Pending is a call that waits for a decision.
type Pending struct {
	Approval string
	// Run and Call are the keys by which the caller resumes it; empty for one
	// that cannot come back.
	Run, Call string
	// URL is where a person decides; empty if nobody said so. It grants nothing.
	URL string
}

func (*Result) outcome()   {}
func (*Question) outcome() {}
func (*Pending) outcome()  {}

// Content is one block of a result: *Text, *Blob, *Link or *Embedded.
type Content interface{ content() }

// Text is a block of text.
type Text struct {
	Text        string
	Annotations *Annotations
	Meta        json.RawMessage
}

// Blob is a picture or a sound.
type Blob struct {
	// Kind is "image" or "audio".
	Kind        string
	Data        []byte
	MIMEType    string
	Annotations *Annotations
	Meta        json.RawMessage
}

// Link names a resource.
type Link struct {
	URI, Name, Title, Description, MIMEType string
	Size                                    *int64
	Icons                                   []Icon
	Annotations                             *Annotations
	Meta                                    json.RawMessage
}

// Embedded is a resource with its content. Blob nil: text.
type Embedded struct {
	URI, MIMEType string
	Text          string
	Blob          []byte
	Annotations   *Annotations
	// Meta is the block's, ContentMeta the resource's.
	Meta, ContentMeta json.RawMessage
}

// Annotations are hints for the client.
type Annotations struct {
	Audience     []string `json:"audience,omitempty"`
	Priority     *float64 `json:"priority,omitempty"`
	LastModified string   `json:"lastModified,omitempty"`
}

func (*Text) content()     {}
func (*Blob) content()     {}
func (*Link) content()     {}
func (*Embedded) content() {}
