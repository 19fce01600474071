// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// library is an adapter with one of each kind.
func (h *host) library() *host {
	h.t.Helper()
	offers := []*registry.Offer{
		{
			Resource: &tool.Resource{URI: "note://1", Name: "one", MIMEType: "text/plain", Size: new(int64(3))},
			Spec:     tool.Spec{Op: tool.OpResource, Name: "resources:note://1", Adapter: "library"},
		},
		{
			Resource: &tool.Resource{URI: "note://{id}", Name: "each"}, Family: regexp.MustCompile(`^note://\d+$`),
			Spec: tool.Spec{Op: tool.OpResource, Name: "resources:note://{id}", Adapter: "library", Declared: "note://{id}"},
		},
		{
			Prompt: &tool.Prompt{Name: "library_sum", Arguments: []tool.PromptArgument{{Name: "of", Required: true}}},
			Spec:   tool.Spec{Op: tool.OpPrompt, Name: "prompts:library_sum", Adapter: "library"},
		},
	}
	if _, err := h.registry.Replace("library", nobody{}, offers); err != nil {
		h.t.Fatal(err)
	}
	return h
}

// librarian answers calls of each kind.
func librarian(_ context.Context, c *tool.Call) (tool.Outcome, error) {
	switch c.Op {
	case tool.OpResource:
		return &tool.Result{Content: []tool.Content{
			&tool.Embedded{URI: c.Name, MIMEType: "text/plain", Text: "<&>", ContentMeta: []byte(`{"n":1.10,"toolwharf/x":1}`)},
			&tool.Embedded{URI: c.Name, Blob: []byte{0, 255}},
		}}, nil
	case tool.OpPrompt:
		return &tool.Result{Description: "sums up", Roles: []string{"user", "assistant"}, Content: []tool.Content{
			&tool.Text{Text: string(c.Args.Bytes())}, &tool.Blob{Kind: "image", MIMEType: "image/png", Data: []byte{1}},
		}}, nil
	case tool.OpCompletion:
		return &tool.Result{Completion: &tool.Completion{Values: []string{c.Name, string(c.Args.Bytes())}, Total: new(int32(7)), More: true}}, nil
	default:
		return echo(context.Background(), c)
	}
}

func TestResourcesPromptsAndCompletionsAreAnswered(t *testing.T) {
	h := newHost(t, Config{}).serve().library()
	h.run = librarian
	for _, c := range []struct{ method, params, want string }{
		{"resources/list", ``, `"resources":[{"uri":"note://1","name":"one","mimeType":"text/plain","size":3}]`},
		{"resources/templates/list", ``, `"resourceTemplates":[{"uriTemplate":"note://{id}","name":"each"}]`},
		{"prompts/list", ``, `"prompts":[{"name":"library_sum","arguments":[{"name":"of","required":true}]}]`},
		{"resources/read", `"uri":"note://1"`, `"contents":[{"uri":"note://1","mimeType":"text/plain","text":"<&>","_meta":{"n":1.10}},{"uri":"note://1","blob":"AP8="}]`},
		{"prompts/get", `"name":"library_sum","arguments":{"of":"a"}`, `"messages":[{"role":"user","content":{"type":"text","text":"{\"of\":\"a\"}"}},` +
			`{"role":"assistant","content":{"type":"image","data":"AQ==","mimeType":"image/png"}}],"description":"sums up"`},
		{
			"completion/complete", `"ref":{"type":"ref/prompt","name":"library_sum"},"argument":{"name":"of","value":"x"},"context":{"arguments":{"a":"b"}}`,
			`"completion":{"values":["prompts:library_sum","{\"argument\":\"of\",\"value\":\"x\",\"resolved\":{\"a\":\"b\"}}"],"total":7,"hasMore":true}`,
		},
		{"completion/complete", `"ref":{"type":"ref/resource","uri":"note://{id}"},"argument":{"name":"id","value":""}`, `"values":["resources:note://{id}"`},
	} {
		for _, era := range eras {
			var headers []string
			if uri, ok := strings.CutPrefix(c.params, `"uri":"`); ok && modern(era) {
				headers = []string{headerName, strings.TrimSuffix(uri, `"`)}
			}
			m := h.ask(era, body(era, c.method, c.params, ""), headers...)
			if !strings.Contains(string(m.Result), c.want) {
				t.Errorf("%s in %s: %s, %+v", c.method, era, m.Result, m.Error)
			}
			if done := strings.Contains(string(m.Result), `"resultType":"complete"`); done != modern(era) {
				t.Errorf("%s in %s: %s", c.method, era, m.Result)
			}
			ttl := strings.Contains(string(m.Result), `"ttlMs":0,"cacheScope":"private"`)
			if want := modern(era) && (strings.HasSuffix(c.method, "/list") || c.method == methodRead); ttl != want {
				t.Errorf("%s in %s: %s", c.method, era, m.Result)
			}
		}
	}
}

func TestAReadThatCameToNothingIsAProtocolError(t *testing.T) {
	h := newHost(t, Config{}).serve().library()
	for want, c := range map[string]struct {
		err  error
		out  tool.Outcome
		code int64
	}{
		`"toolwharf/error_kind":"denied"`:              {err: tool.Errorf(tool.Denied, "denied_by_rule", "no"), code: 403},
		`"toolwharf/error_code":"invalid_args"`:        {err: tool.Errorf(tool.ArgsInvalid, "invalid_args", "no"), code: -32602},
		`"toolwharf/approval_id":"apr_1"`:              {out: &tool.Pending{Approval: "apr_1", Run: "r", Call: "c"}, code: 403},
		`"toolwharf/retry_after_ms":2000`:              {err: &tool.Error{Kind: tool.RateLimited, RetryAfter: 2 * time.Second}, code: 429},
		`"toolwharf/error_kind":"adapter_unavailable"`: {err: tool.Errorf(tool.AdapterUnavailable, "", "gone"), code: 503},
		`"toolwharf/error_kind":"tool_failed"`:         {err: tool.Failed("x", nil), code: -32603},
	} {
		h.run = func(context.Context, *tool.Call) (tool.Outcome, error) { return c.out, c.err }
		for _, era := range eras {
			m := h.ask(era, body(era, methodGetPrompt, `"name":"library_sum"`, ""))
			if m.Error == nil || m.Error.Code != c.code || !strings.Contains(string(m.Error.Data), want) || m.Error.Message == "" {
				t.Errorf("%s in %s: %+v", want, era, m.Error)
			}
		}
	}
}

func TestAQuestionOfAPromptIsAskedAndAnswered(t *testing.T) {
	h := newHost(t, Config{}).serve().library()
	h.run = func(_ context.Context, c *tool.Call) (tool.Outcome, error) {
		if c.State == nil {
			return &tool.Question{State: []byte("sealed"), Requests: map[string]tool.InputRequest{"q": {Method: "roots/list"}}}, nil
		}
		return &tool.Result{Description: string(c.State) + string(c.Answers["q"])}, nil
	}
	m := h.ask(versionModern, body(versionModern, methodGetPrompt, `"name":"library_sum"`, ""))
	if !strings.Contains(string(m.Result), `"resultType":"input_required"`) {
		t.Fatalf("%s, %+v", m.Result, m.Error)
	}
	m = h.ask(versionModern, body(versionModern, methodGetPrompt, `"name":"library_sum","requestState":"sealed","inputResponses":{"q":{"odd":[1.10]}}`, ""))
	if !strings.Contains(string(m.Result), `"description":"sealed{\"odd\":[1.10]}"`) {
		t.Errorf("%s, %+v", m.Result, m.Error)
	}
}

func TestTheTraceOfAClientIsCarried(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	h := newHost(t, Config{}).serve()
	for extra, want := range map[string]tool.Trace{
		`,"traceparent":"` + parent + `","tracestate":"a=b","baggage":"u=1"`: {Parent: parent, State: "a=b", Baggage: "u=1"},
		`,"traceparent":"` + parent + `-more","tracestate":"a=b"`:            {},
		`,"traceparent":"x","tracestate":"a=b","baggage":"u=\n"`:             {},
		`,"traceparent":7`: {},
		``:                 {},
	} {
		for _, era := range eras {
			h.answer(era, body(era, methodCallTool, `"name":"echo"`, extra))
			if got := h.last().Trace; got != want {
				t.Errorf("%s in %s: %+v", extra, era, got)
			}
		}
	}
}

func TestTheOfficialClientReadsAndHearsOfChanges(t *testing.T) {
	h := newHost(t, Config{}).serve()
	h.run = librarian
	heard := make(chan string, 9)
	client := mcpsdk.NewClient(&mcpsdk.Implementation{Name: "t"}, &mcpsdk.ClientOptions{
		ResourceListChangedHandler: func(context.Context, *mcpsdk.ResourceListChangedRequest) { heard <- "resources" },
		PromptListChangedHandler:   func(context.Context, *mcpsdk.PromptListChangedRequest) { heard <- "prompts" },
	})
	session, err := client.Connect(t.Context(), &mcpsdk.StreamableClientTransport{Endpoint: h.url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	h.library()
	for got := map[string]bool{}; len(got) < 2; {
		got[<-heard] = true
	}
	list, err := session.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	read, err := session.ReadResource(t.Context(), &mcpsdk.ReadResourceParams{URI: "note://1"})
	if err != nil || read.Contents[0].Text != "<&>" {
		t.Errorf("%+v, %v", read, err)
	}
	got, err := session.GetPrompt(t.Context(), &mcpsdk.GetPromptParams{Name: "library_sum", Arguments: map[string]string{"of": "it"}})
	if err != nil || len(got.Messages) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	completed, err := session.Complete(t.Context(), &mcpsdk.CompleteParams{
		Ref: &mcpsdk.CompleteReference{Type: "ref/prompt", Name: "library_sum"}, Argument: mcpsdk.CompleteParamsArgument{Name: "of", Value: "x"},
	})
	if err != nil || completed.Completion.Total != 7 {
		t.Errorf("%+v, %v", completed, err)
	}
}
