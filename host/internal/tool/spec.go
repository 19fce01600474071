// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
)

// Effects is what calling a tool does to the world outside its adapter.
type Effects string

// Effects unset are treated as Destructive.
const (
	EffectsUnset Effects = ""
	ReadOnly     Effects = "read_only"
	Additive     Effects = "additive"
	Destructive  Effects = "destructive"
)

// Effective returns e, or Destructive if it is unset or unknown.
func (e Effects) Effective() Effects {
	switch e {
	case ReadOnly, Additive:
		return e
	case EffectsUnset, Destructive:
		return Destructive
	default:
		return Destructive
	}
}

// Harm orders effects: the larger, the more a call may do.
func (e Effects) Harm() int {
	switch e.Effective() {
	case ReadOnly:
		return 0
	case Additive:
		return 1
	case Destructive, EffectsUnset:
	}
	return 2
}

// TaskSupport says whether a call may become a task.
type TaskSupport string

// TaskSupport unset is TaskNone.
const (
	TaskNone     TaskSupport = ""
	TaskOptional TaskSupport = "optional"
	TaskRequired TaskSupport = "required"
)

// Spec is a tool's full description, or what policy knows of a resource, a family
// of them, or a prompt. It is immutable once it is in the registry.
type Spec struct {
	// Op is what it is called by; unset is OpTool.
	Op Op
	// Name is the public name: what clients call and rules match.
	Name string
	// Adapter is the adapter that declares the tool, Declared its name there.
	Adapter, Declared string
	// Title and Description are for people and models.
	Title, Description string
	// Input and Output are JSON Schemas (2020-12). Input's root is an object;
	// Output is nil for a tool without structured content.
	Input, Output json.RawMessage
	// Effects, Idempotent and Confirm are what policy is made of. Confirm nil
	// means: decided by Effects.
	Effects    Effects
	Idempotent bool
	Confirm    *bool
	// Excused: the operator says that no call needs a confirmation, whatever the
	// effects. A rule, or a default that denies, counts all the same.
	Excused bool
	// Lenient allows the four coercions of package schema.
	Lenient bool
	// OpenWorld is a hint for clients; nil is unknown.
	OpenWorld *bool
	Tags      []string
	Icons     []Icon
	// Meta is one JSON object for clients, reserved keys already stripped.
	Meta json.RawMessage
	// Task says whether a call may become a task.
	Task TaskSupport
	// Needs is one JSON object: the MCP client capabilities without which the
	// tool cannot work. Nil: none.
	Needs json.RawMessage
	// Digest covers every field above; see Seal.
	Digest Digest
}

// Icon is a picture for people (MCP Icon).
type Icon struct {
	Src      string   `json:"src"`
	MIMEType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitempty"`
	Theme    string   `json:"theme,omitempty"`
}

// Serves reports whether this is what an operation is about.
func (s *Spec) Serves(op Op) bool {
	own := s.Op
	if own == "" {
		own = OpTool
	}
	return op == own || op == OpCompletion && own != OpTool
}

// NeedsApproval reports whether, without any rule, a person must approve each
// call: what the tool says, else everything that is not read-only.
func (s *Spec) NeedsApproval() bool {
	if s.Confirm != nil && *s.Confirm {
		return true
	}
	return !s.Excused && s.Effects.Effective() != ReadOnly
}

// Seal computes the digest. Approvals, cache keys and pins hang on it, so it
// covers every field, each framed by its length.
func (s *Spec) Seal() {
	var b bytes.Buffer
	field := func(v []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(v)))
		b.Write(n[:])
		b.Write(v)
	}
	text := func(v string) { field([]byte(v)) }
	flag := func(v *bool) {
		if v == nil {
			text("unset")
			return
		}
		text(fmt.Sprint(*v))
	}
	text("toolwharf/spec/v1")
	for _, v := range []string{s.Name, s.Adapter, s.Declared, s.Title, s.Description} {
		text(v)
	}
	field(s.Input)
	field(s.Output)
	text(string(s.Effects))
	text(fmt.Sprint(s.Idempotent))
	flag(s.Confirm)
	text(fmt.Sprint(s.Lenient))
	flag(s.OpenWorld)
	tags := slices.Clone(s.Tags)
	slices.Sort(tags)
	text(fmt.Sprint(len(tags)))
	for _, t := range tags {
		text(t)
	}
	text(fmt.Sprint(len(s.Icons)))
	for _, i := range s.Icons {
		text(i.Src)
		text(i.MIMEType)
		text(fmt.Sprintf("%q", i.Sizes))
		text(i.Theme)
	}
	field(s.Meta)
	text(string(s.Task))
	field(s.Needs)
	if !s.Serves(OpTool) {
		text(string(s.Op))
	}
	if s.Excused {
		text("excused")
	}
	s.Digest = DigestOf(b.Bytes())
}
