// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

func TestACatalogueInTheHostsWords(t *testing.T) {
	yes, no := true, false
	for name, tc := range map[string]struct {
		given *pluginv1.Tool
		want  tool.Spec
		note  string
	}{
		"everything": {
			given: &pluginv1.Tool{
				Name: "get", Title: "Get", Description: "Gets.", InputSchema: []byte(`{"type":"object"}`), OutputSchema: []byte(`{}`),
				Effects: pluginv1.Effects_EFFECTS_READ_ONLY, Idempotent: true, Confirm: &no, LenientArgs: true, Tags: []string{"a"},
				Icons: []*pluginv1.Icon{
					{Src: "https://x/i.png", MimeType: "image/png", Sizes: []string{"any"}, Theme: "dark"}, {Src: "file:///etc/passwd"},
				},
				Meta: []byte(`{"k":1}`), TaskSupport: pluginv1.TaskSupport_TASK_SUPPORT_OPTIONAL,
				RequiredClientCapabilities: []byte(`{"sampling":{}}`), OpenWorld: &yes,
			},
			want: tool.Spec{
				Declared: "get", Title: "Get", Description: "Gets.", Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{}`),
				Effects: tool.ReadOnly, Idempotent: true, Confirm: &no, Lenient: true, Tags: []string{"a"},
				Icons: []tool.Icon{{Src: "https://x/i.png", MIMEType: "image/png", Sizes: []string{"any"}, Theme: "dark"}},
				Meta:  json.RawMessage(`{"k":1}`), Task: tool.TaskOptional, Needs: json.RawMessage(`{"sampling":{}}`), OpenWorld: &yes,
			},
		},
		"next to nothing":              {given: &pluginv1.Tool{Name: "get"}, want: tool.Spec{Declared: "get"}},
		"additive":                     {given: &pluginv1.Tool{Effects: pluginv1.Effects_EFFECTS_ADDITIVE}, want: tool.Spec{Effects: tool.Additive}},
		"destructive":                  {given: &pluginv1.Tool{Effects: pluginv1.Effects_EFFECTS_DESTRUCTIVE}, want: tool.Spec{Effects: tool.Destructive}},
		"effects of a later version":   {given: &pluginv1.Tool{Effects: 99}, want: tool.Spec{Effects: tool.EffectsUnset}},
		"only as a task":               {given: &pluginv1.Tool{TaskSupport: pluginv1.TaskSupport_TASK_SUPPORT_REQUIRED}, want: tool.Spec{Task: tool.TaskRequired}},
		"a support of a later version": {given: &pluginv1.Tool{TaskSupport: 99}, want: tool.Spec{Task: tool.TaskNone}},
		"meta that is no object": {
			given: &pluginv1.Tool{Name: "get", Meta: []byte(`[]`)}, want: tool.Spec{Declared: "get"},
			note: `_meta of tool "get" left out: not an object`,
		},
		"needs that are no JSON": {
			given: &pluginv1.Tool{Name: "get", RequiredClientCapabilities: []byte(`{`)}, want: tool.Spec{Declared: "get"},
			note: `required_client_capabilities of tool "get" left out: `,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := catalog(&pluginv1.Catalog{Tools: []*pluginv1.Tool{tc.given}})
			if diff := cmp.Diff([]tool.Spec{tc.want}, got.Tools); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if tc.note == "" {
				if len(got.Notes) != 0 {
					t.Errorf("notes %q", got.Notes)
				}
				return
			}
			if len(got.Notes) != 1 {
				t.Fatalf("notes %q", got.Notes)
			}
			expectWords(t, got.Notes[0], tc.note)
		})
	}
}

// watching is a plugin whose Watch sends these events, and then ends as said.
func watching(end error, events ...*pluginv1.WatchResponse) *server {
	return &server{watch: func(s grpc.ServerStreamingServer[pluginv1.WatchResponse]) error {
		for _, e := range events {
			if err := s.Send(e); err != nil {
				return err
			}
		}
		return end
	}}
}

func offering(names ...string) *pluginv1.WatchResponse {
	c := &pluginv1.Catalog{}
	for _, n := range names {
		c.Tools = append(c.Tools, &pluginv1.Tool{Name: n})
	}
	return &pluginv1.WatchResponse{Event: &pluginv1.WatchResponse_Catalog{Catalog: c}}
}

// followed is what Catalogs yields: the tools of each catalogue, and the error.
func followed(ctx context.Context, in adapter.Instance) (seen [][]string, last error) {
	for c, err := range in.Catalogs(ctx) {
		if err != nil {
			last = err
			continue
		}
		names := []string{}
		for _, s := range c.Tools {
			names = append(names, s.Declared)
		}
		seen = append(seen, names)
	}
	return seen, last
}

func TestCatalogsYieldsEachCatalogueAndWhyThereWillBeNoMore(t *testing.T) {
	note := &pluginv1.WatchResponse{Event: &pluginv1.WatchResponse_Note{Note: &pluginv1.Note{Text: "hello"}}}
	updated := &pluginv1.WatchResponse{Event: &pluginv1.WatchResponse_ResourceUpdated{ResourceUpdated: &pluginv1.ResourceUpdated{Uri: "x:"}}}
	for name, tc := range map[string]struct {
		end    error
		events []*pluginv1.WatchResponse
		want   [][]string
		code   codes.Code
	}{
		"a static catalogue":             {nil, []*pluginv1.WatchResponse{offering("a")}, [][]string{{"a"}}, codes.OK},
		"one that changes":               {nil, []*pluginv1.WatchResponse{offering("a"), offering("a", "b"), offering()}, [][]string{{"a"}, {"a", "b"}, {}}, codes.OK},
		"other events are no catalogues": {nil, []*pluginv1.WatchResponse{note, offering("a"), updated, {}}, [][]string{{"a"}}, codes.OK},
		"nothing at all":                 {nil, nil, nil, codes.OK},
		"a stream that breaks off":       {status.Error(codes.Unavailable, "gone"), []*pluginv1.WatchResponse{offering("a")}, [][]string{{"a"}}, codes.Unavailable},
		"one that was not configured":    {status.Error(codes.FailedPrecondition, "first configure"), nil, nil, codes.FailedPrecondition},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := followed(t.Context(), moored(t, watching(tc.end, tc.events...)))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if code := status.Code(errors.Unwrap(err)); (err != nil) != (tc.code != codes.OK) || err != nil && code != tc.code {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

func TestAStreamThatBreaksOffWithItsProcessIsToldOnceTheProcessIsKnownToHaveEnded(t *testing.T) {
	in := newHarness(t).started(acting(t, "ending after a moment"))
	if _, err := followed(t.Context(), in); err == nil {
		t.Error("no error")
	}
	select {
	case <-in.Done():
	default:
		t.Error("its end is not known yet")
	}
}

func TestNotesBeyondTheirPaceAreCountedAndNotLogged(t *testing.T) {
	var events []*pluginv1.WatchResponse
	for range 100 * notesAtOnce {
		events = append(events, &pluginv1.WatchResponse{Event: &pluginv1.WatchResponse_Note{Note: &pluginv1.Note{Text: "hello"}}})
	}
	in := moored(t, watching(nil, events...))
	var log bytes.Buffer
	in.log = hclog.New(&hclog.LoggerOptions{Output: &log})
	if _, err := followed(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "note of the plugin"); n < notesAtOnce || n > 2*notesAtOnce {
		t.Errorf("%d lines of %d notes", n, len(events))
	}
}

func TestCatalogsEndsWithItsContextWithoutAnError(t *testing.T) {
	ended := make(chan struct{})
	in := moored(t, &server{watch: func(s grpc.ServerStreamingServer[pluginv1.WatchResponse]) error {
		defer close(ended)
		if err := s.Send(offering("a")); err != nil {
			return err
		}
		<-s.Context().Done()
		return nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range in.Catalogs(ctx) {
		if err != nil {
			t.Error(err)
		}
		cancel()
	}
	<-ended
}

func TestAReaderOfCatalogsMayStopWheneverItLikes(t *testing.T) {
	ended := make(chan struct{})
	in := moored(t, &server{watch: func(s grpc.ServerStreamingServer[pluginv1.WatchResponse]) error {
		defer close(ended)
		for s.Send(offering("a")) == nil {
		}
		return nil
	}})
	for range in.Catalogs(t.Context()) { //nolint:errcheck // only that it is left
		break
	}
	<-ended
}
