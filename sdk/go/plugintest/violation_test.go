// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"fmt"
	"math"
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
	"github.com/toolwharf/toolwharf/sdk/go"
)

// rogue says what no SDK would say.
type rogue struct {
	pluginv1.UnimplementedPluginServiceServer
	pluginv1.UnimplementedToolServiceServer

	about    *pluginv1.DescribeResponse
	events   []*pluginv1.WatchResponse
	messages []*pluginv1.CallToolResponse
}

func (r *rogue) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return r.about, nil
}

func (r *rogue) Configure(context.Context, *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	return new(pluginv1.ConfigureResponse), nil
}

func (r *rogue) Watch(_ *pluginv1.WatchRequest, stream grpc.ServerStreamingServer[pluginv1.WatchResponse]) error {
	for _, e := range r.events {
		if err := stream.Send(e); err != nil {
			return err
		}
	}
	return nil
}

func (r *rogue) CallTool(_ *pluginv1.CallToolRequest, stream grpc.ServerStreamingServer[pluginv1.CallToolResponse]) error {
	for _, m := range r.messages {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}

// witness is a test that takes down why it failed.
type witness struct {
	testing.TB
	mu   sync.Mutex
	said []string
}

func (w *witness) Errorf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

func (w *witness) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.said, "\n")
}

// hosted is a host of the rogue whose test is the witness.
func hosted(t *testing.T, r *rogue) (*Host, *witness) {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer()
	pluginv1.RegisterPluginServiceServer(s, r)
	pluginv1.RegisterToolServiceServer(s, r)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	conn, err := grpc.NewClient("passthrough:rogue", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{TB: t}
	h := newHost(w, conn, newLines(), settings{})
	h.begin(settings{config: struct{}{}})
	return h, w
}

func catalog(tools ...*pluginv1.Tool) *pluginv1.WatchResponse {
	return &pluginv1.WatchResponse{Event: &pluginv1.WatchResponse_Catalog{Catalog: &pluginv1.Catalog{Tools: tools}}}
}

func progress(done float64) *pluginv1.CallToolResponse {
	return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Progress{Progress: &pluginv1.Progress{Progress: done}}}
}

func result(r *pluginv1.ToolResult) *pluginv1.CallToolResponse {
	return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Result{Result: r}}
}

func TestAStreamThatBreaksTheProtocolFailsTheTest(t *testing.T) {
	logged := func(l pluginv1.LogLevel, data string) *pluginv1.CallToolResponse {
		return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Log{Log: &pluginv1.LogMessage{Level: l, Data: []byte(data)}}}
	}
	failed := func(e *pluginv1.CallError) *pluginv1.CallToolResponse {
		return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_Error{Error: e}}
	}
	asked := func(q *pluginv1.InputRequired) *pluginv1.CallToolResponse {
		return &pluginv1.CallToolResponse{Message: &pluginv1.CallToolResponse_InputRequired{InputRequired: q}}
	}
	good := result(&pluginv1.ToolResult{Structured: []byte(`{"n":1}`)})
	type messages = []*pluginv1.CallToolResponse
	for name, c := range map[string]struct {
		messages messages
		quiet    bool
		want     string // empty: it is right
	}{
		"what is right":            {messages{progress(1), progress(2), good}, false, ""},
		"no end":                   {messages{progress(1)}, false, "ended without a result"},
		"two ends":                 {messages{good, good}, false, "after the end"},
		"nothing":                  {messages{{}, good}, false, "of no known kind"},
		"progress that stands":     {messages{progress(1), progress(1), good}, false, "does not grow"},
		"progress to infinity":     {messages{progress(math.Inf(1)), good}, false, "is no number"},
		"progress unasked":         {messages{progress(1), good}, true, "nobody wants"},
		"a message unasked":        {messages{logged(8, "1"), good}, true, "the client wants"},
		"a message that is noise":  {messages{logged(8, "x"), good}, false, "is not JSON"},
		"no structure":             {messages{result(new(pluginv1.ToolResult))}, false, "has an output schema"},
		"another structure":        {messages{result(&pluginv1.ToolResult{Structured: []byte(`{"n":"x"}`)})}, false, "does not fit the output schema"},
		"no JSON":                  {messages{result(&pluginv1.ToolResult{Structured: []byte(`{`)})}, false, "is not JSON"},
		"meta":                     {messages{result(&pluginv1.ToolResult{Structured: []byte(`{"n":1}`), Meta: []byte("[]")})}, false, "meta of the result is not a JSON object"},
		"an empty block":           {messages{result(&pluginv1.ToolResult{Structured: []byte(`{"n":1}`), Content: []*pluginv1.Content{{}}})}, false, "a block of no known kind"},
		"a result that is too big": {messages{result(&pluginv1.ToolResult{Structured: []byte(`{"n":1` + strings.Repeat(" ", 1<<20) + `}`)})}, false, "the limit is"},
		"an error without a code":  {messages{failed(&pluginv1.CallError{Kind: 1})}, false, "the code of an error"},
		"an error without a kind":  {messages{failed(&pluginv1.CallError{Code: "x"})}, false, "an error of no kind"},
		"a question about nothing": {messages{asked(new(pluginv1.InputRequired))}, false, "0 questions"},
		"a question of no method": {
			messages{asked(&pluginv1.InputRequired{Requests: map[string]*pluginv1.InputRequest{"k": {Method: "x", Params: []byte("{}")}}})}, false, `the method "x"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, w := hosted(t, &rogue{
				about: &pluginv1.DescribeResponse{Name: "rogue", Features: []string{"tools"}},
				events: []*pluginv1.WatchResponse{catalog(&pluginv1.Tool{
					Name: "t", OutputSchema: []byte(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
				})},
				messages: c.messages,
			})
			var opts []CallOption
			if c.quiet {
				opts = append(opts, Quiet())
			}
			h.Call("t", nil, opts...)
			if got := w.text(); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestACatalogueThatBreaksTheProtocolFailsTheTest(t *testing.T) {
	r := &rogue{
		about: &pluginv1.DescribeResponse{Name: "Rogue", Features: []string{"x"}, ConfigSchema: []byte("{")},
		events: []*pluginv1.WatchResponse{
			{Event: &pluginv1.WatchResponse_ResourceUpdated{ResourceUpdated: &pluginv1.ResourceUpdated{Uri: "a:"}}},
			{Event: &pluginv1.WatchResponse_Catalog{Catalog: &pluginv1.Catalog{
				Tools: []*pluginv1.Tool{
					{Name: "twice", Meta: []byte("1")}, {Name: "twice"}, {Name: "a b", InputSchema: []byte(`{"type":"string"}`)},
				},
				Resources:         []*pluginv1.Resource{{Uri: "x", Name: "x"}},
				ResourceTemplates: []*pluginv1.ResourceTemplate{{UriTemplate: "a:{x}"}},
				Prompts:           []*pluginv1.Prompt{{Name: "p", Arguments: []*pluginv1.PromptArgument{{}}}},
			}}},
		},
	}
	l := wrongs(t, r)
	for _, want := range []string{
		`the name "Rogue"`, `the feature "x"`, "config_schema", "the first event is not the catalogue", `needs the feature "tools"`, `needs the feature "resources"`,
		`needs the feature "prompts"`, `the tool "twice"`, `the tool "a b"`, "meta of twice", "input_schema of a b", `the resource "x"`,
		`the template "a:{x}"`, `the argument of p ""`,
	} {
		if !strings.Contains(l, want) {
			t.Errorf("missing %q in\n%s", want, l)
		}
	}
}

// wrongs starts with the rogue and returns what is wrong with it.
func wrongs(t *testing.T, r *rogue) string {
	t.Helper()
	h, w := hosted(t, &rogue{about: &pluginv1.DescribeResponse{Name: "r"}, events: r.events})
	h.violated("Describe", ofDescription(&pluginv1.DescribeResponse{Name: r.about.GetName(), Features: r.about.GetFeatures(), ConfigSchema: r.about.GetConfigSchema()}))
	return w.text()
}

func TestWhatElseMayBreakTheProtocol(t *testing.T) {
	many := make([]string, 101)
	limits := toolwharf.Limits{MaxResultBytes: 3}
	for name, got := range map[string]faults{
		"a diagnostic":     ofConfiguration(&pluginv1.ConfigureResponse{Diagnostics: []*pluginv1.Diagnostic{{Summary: "x", Pointer: "a"}}}),
		"a grant":          ofConfiguration(&pluginv1.ConfigureResponse{Grants: []*pluginv1.Grant{{Kind: 1, Value: "a/b"}}}),
		"a picture":        ofContent(&pluginv1.Content{Block: &pluginv1.Content_Image{Image: new(pluginv1.BlobContent)}}),
		"a sound":          ofContent(&pluginv1.Content{Block: &pluginv1.Content_Audio{Audio: new(pluginv1.BlobContent)}}),
		"a link":           ofContent(&pluginv1.Content{Block: &pluginv1.Content_ResourceLink{ResourceLink: new(pluginv1.ResourceLink)}}),
		"an embedded one":  ofContent(&pluginv1.Content{Block: &pluginv1.Content_Resource{Resource: new(pluginv1.ResourceContents)}}),
		"contents":         ofContents([]*pluginv1.ResourceContents{{Uri: "a:", Contents: &pluginv1.ResourceContents_Text{Text: "four"}}}, limits),
		"a role":           ofPrompt(&pluginv1.GetPromptResult{Messages: []*pluginv1.PromptMessage{{Role: "system", Content: TextResult("x").GetContent()[0]}}}),
		"many values":      ofCompletion(&pluginv1.CompleteResponse{Values: many}),
		"a refusal":        ofVerdict(&Verdict{Refusal: new(pluginv1.Refusal)}),
		"edited arguments": ofVerdict(&Verdict{Arguments: []byte("[]")}),
		"an edited result": ofVerdict(&Verdict{Result: StructuredResult([]byte("{"))}),
	} {
		if len(got) != 1 {
			t.Errorf("%s: %q", name, got)
		}
	}
}
