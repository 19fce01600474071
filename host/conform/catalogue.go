// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/adapter/plugin"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	words "github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

var catalogueChecks = []check{
	{"catalogue/first-message", "the first message of Watch is the whole catalogue", (*suite).firstMessage},
	{"catalogue/tools", "names, schemas (2020-12), texts and numbers of tools are within the host's bounds", (*suite).catalogueTools},
	{"catalogue/same-twice", "the tools are the same, byte for byte, in every process", (*suite).sameTools},
	{"catalogue/features", "the features are those of the catalogue", (*suite).features},
}

// tool is one declared tool and what the kit may do with it.
type tool struct {
	*pluginv1.Tool

	input, output *schema.Schema
	args          json.RawMessage   // valid ones; nil: none could be made
	examples      []json.RawMessage // given by the author
	free          bool              // may be called with good arguments
}

// watch asks for the catalogue. notes are those that came before it.
func (s *suite) watch(ctx context.Context, m *mooring) (catalog *pluginv1.Catalog, first bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.bounds.call)
	defer cancel()
	stream, err := m.plugin.Watch(ctx, &pluginv1.WatchRequest{})
	if err != nil {
		return nil, false, m.fault(err)
	}
	for n := 0; ; n++ {
		r, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil, false, errors.New("the stream ended without a catalogue")
		case err != nil:
			return nil, false, m.fault(err)
		}
		if e, ok := r.GetEvent().(*pluginv1.WatchResponse_Catalog); ok {
			return e.Catalog, n == 0, nil
		}
	}
}

func (s *suite) firstMessage(ctx context.Context) error {
	m, err := s.configured(ctx, limits())
	if err != nil {
		return err
	}
	defer m.end()
	_, first, err := s.watch(ctx, m)
	if err == nil && !first {
		err = errors.New("something else came before the catalogue")
	}
	return err
}

// catalogueTools judges by the same code as the host, which leaves out tools that are
// at fault.
func (s *suite) catalogueTools(ctx context.Context) error {
	if _, err := s.ready(ctx); err != nil {
		return err
	}
	d := &adapter.Desired{Name: "conform", Prefix: "conform_"}
	_, notes := adapter.Offers(d, plugin.Catalog(s.catalog), words.Digest{}, nil)
	for _, t := range s.catalog.GetTools() {
		if e := t.GetEffects(); e < pluginv1.Effects_EFFECTS_UNSPECIFIED || e > pluginv1.Effects_EFFECTS_DESTRUCTIVE {
			notes = append(notes, fmt.Sprintf("tool %q has the effects %d, which are none", t.GetName(), e))
		}
	}
	return joined(notes)
}

// sameTools asks another process for its catalogue: a tool that is spelled otherwise
// is another tool to the host, which would drop what was approved, pinned and cached
// at every start.
func (s *suite) sameTools(ctx context.Context) error {
	if _, err := s.ready(ctx); err != nil {
		return err
	}
	other, err := s.configured(ctx, limits())
	if err != nil {
		return err
	}
	defer other.end()
	again, _, err := s.watch(ctx, other)
	if err != nil {
		return err
	}
	first := map[string]*pluginv1.Tool{}
	for _, t := range s.catalog.GetTools() {
		first[t.GetName()] = t
	}
	var faults []string
	for _, t := range again.GetTools() {
		if was := first[t.GetName()]; was == nil {
			faults = append(faults, fmt.Sprintf("the tool %q is in one process only", t.GetName()))
		} else if !proto.Equal(was, t) {
			faults = append(faults, fmt.Sprintf("the tool %q differs: %s", t.GetName(), differs(was, t)))
		}
		delete(first, t.GetName())
	}
	for _, name := range slices.Sorted(maps.Keys(first)) {
		faults = append(faults, fmt.Sprintf("the tool %q is in one process only", name))
	}
	return joined(faults)
}

// differs names what makes two tools of one.
func differs(a, b *pluginv1.Tool) string {
	switch {
	case !bytes.Equal(a.GetInputSchema(), b.GetInputSchema()):
		return "input_schema (a map without an order?)"
	case !bytes.Equal(a.GetOutputSchema(), b.GetOutputSchema()):
		return "output_schema (a map without an order?)"
	default:
		return "something besides its schemas"
	}
}

func joined(faults []string) error {
	if len(faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(faults, "; "))
}

func (s *suite) features(ctx context.Context) error {
	if _, err := s.ready(ctx); err != nil {
		return err
	}
	var faults []string
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"tools", len(s.catalog.GetTools()) > 0},
		{"resources", len(s.catalog.GetResources())+len(s.catalog.GetResourceTemplates()) > 0},
		{"prompts", len(s.catalog.GetPrompts()) > 0},
	} {
		if f.has && !slices.Contains(s.about.GetFeatures(), f.name) {
			faults = append(faults, fmt.Sprintf("the catalogue has %s, and Describe does not name the feature %q", f.name, f.name))
		}
	}
	return joined(faults)
}

// maxTools is how many tools are called.
const maxTools = 50

// toolsOf are the tools that the host would offer.
func (s *suite) toolsOf(c *pluginv1.Catalog) []*tool {
	var out []*tool
	for _, t := range c.GetTools() {
		if len(out) == maxTools {
			break
		}
		one := &tool{Tool: t, examples: s.o.Examples.Calls[t.GetName()]}
		one.free = s.o.CallAll || t.GetEffects() == pluginv1.Effects_EFFECTS_READ_ONLY
		var err error
		if one.input, err = schema.Compile(t.GetInputSchema(), schema.Input); err != nil {
			continue
		}
		if len(t.GetOutputSchema()) > 0 {
			if one.output, err = schema.Compile(t.GetOutputSchema(), schema.Output); err != nil {
				continue
			}
		}
		if len(one.examples) > 0 {
			one.args = one.examples[0]
		} else if args, ok := arguments(t.GetInputSchema(), one.input); ok {
			one.args = args
		}
		out = append(out, one)
	}
	return out
}

// properties are the names of the declared arguments, sorted, with whether each
// may be a value of any type.
func (t *tool) properties() (names []string, untyped map[string]bool) {
	var declared struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(t.GetInputSchema(), &declared)
	untyped = map[string]bool{}
	for name, raw := range declared.Properties {
		var s struct {
			Type  any             `json:"type"`
			Ref   json.RawMessage `json:"$ref"`
			AnyOf json.RawMessage `json:"anyOf"`
			OneOf json.RawMessage `json:"oneOf"`
		}
		raw = bytes.TrimSpace(raw)
		untyped[name] = bytes.Equal(raw, []byte("true")) ||
			json.Unmarshal(raw, &s) == nil && s.Type == nil && s.Ref == nil && s.AnyOf == nil && s.OneOf == nil
	}
	return slices.Sorted(maps.Keys(declared.Properties)), untyped
}

// with returns the tool's arguments with one of another value; ok is false if
// they would not be valid.
func (t *tool) with(name string, value json.RawMessage) (args json.RawMessage, ok bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(t.args, &fields) != nil {
		return nil, false
	}
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	fields[name] = value
	args, err := json.Marshal(fields)
	return args, err == nil && t.input.ValidateValue(args) == nil
}
