// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
	"github.com/toolwharf/toolwharf/sdk/go"
	"github.com/toolwharf/toolwharf/sdk/go/plugintest"
)

// quay is a state with something of everything.
type quay struct {
	name string
	gone chan struct{}
}

func (q *quay) Close() error {
	close(q.gone)
	return nil
}

type quayConfig struct {
	Name  string   `json:"name" default:"north"`
	Tools []string `json:"tools,omitempty"`
}

type berthVars struct {
	Number int           `json:"number" min:"1"`
	Side   string        `json:"side" enum:"port,starboard" default:"port"`
	After  time.Duration `json:"after,omitempty"`
}

type cargo struct {
	What string        `json:"what"`
	Took time.Duration `json:"took"`
	List []string      `json:"list"`
}

type mood string

func quayPlugin(gone chan struct{}, opts ...toolwharf.PluginOption) *toolwharf.Plugin[quay] {
	p := toolwharf.New(toolwharf.Info{Name: "quay", Version: "1"}, func(ctx context.Context, c quayConfig) (*quay, error) {
		err := toolwharf.CatalogOf[quay](ctx).Change(func(ch *toolwharf.Changes[quay]) {
			for _, name := range c.Tools {
				toolwharf.AddTool(ch, name, func(q *quay, _ context.Context, _ struct{}) (string, error) { return q.name + name, nil })
			}
		})
		return &quay{name: c.Name, gone: gone}, err
	}, opts...)
	priority := 0.5
	toolwharf.AddResource(p, "quay://name", "name", func(q *quay, _ context.Context) (string, error) { return q.name, nil },
		toolwharf.Title("Name"), toolwharf.Description("Its name."), toolwharf.MIMEType("text/x-name"), toolwharf.Size(5),
		toolwharf.Annotate(toolwharf.Annotations{
			Audience: []string{"user"}, Priority: &priority, LastModified: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC),
		}),
		toolwharf.Icons(toolwharf.Icon{Src: "https://x/i.png", MIMEType: "image/png", Sizes: []string{"any"}, Theme: "dark"}),
		toolwharf.Meta(json.RawMessage(`{"k":1}`)), toolwharf.Subscribable())
	toolwharf.AddResourceFunc(p, "quay://bytes", "bytes", func(context.Context) ([]byte, error) { return []byte{0, 1}, nil })
	toolwharf.AddResourceFunc(p, "quay://nothing", "nothing", func(context.Context) ([]byte, error) { return nil, nil })
	toolwharf.AddResourceFunc(p, "quay://mood", "mood", func(context.Context) (mood, error) { return "calm", nil })
	toolwharf.AddResourceFunc(p, "quay://json", "json", func(context.Context) (cargo, error) { return cargo{What: "<tea>", Took: time.Minute}, nil })
	toolwharf.AddResourceFunc(p, "quay://contents", "contents", func(context.Context) (*toolwharf.Contents, error) {
		return &toolwharf.Contents{Text: "\xff", Meta: json.RawMessage("{}")}, nil
	})
	toolwharf.AddResourceFunc(p, "quay://list", "list", func(context.Context) ([]toolwharf.Contents, error) {
		return []toolwharf.Contents{{Text: "a"}, {URI: "quay://list/b", MIMEType: "image/png", Blob: []byte("b")}}, nil
	})
	toolwharf.AddResourceFunc(p, "quay://neither", "neither", func(context.Context) (*toolwharf.Contents, error) { return nil, nil })
	toolwharf.AddResourceFunc(p, "quay://wrong", "wrong", func(context.Context) (toolwharf.Contents, error) { return toolwharf.Contents{URI: "x"}, nil })
	toolwharf.AddResourceFunc(p, "quay://panic", "panic", func(context.Context) (string, error) { panic("boom") })
	toolwharf.AddResourceFunc(p, "quay://refused", "refused", func(context.Context) (string, error) {
		return "", &toolwharf.ProtocolError{Code: -1, Message: "no", Data: json.RawMessage("7")}
	})
	toolwharf.AddTemplate(p, "quay://berths/{number}{?side,after}", "berth", func(q *quay, ctx context.Context, in berthVars) (string, error) {
		toolwharf.Progress(ctx, 1, 0, "looking")
		if in.Number > 9 {
			return "", toolwharf.ResourceNotFound("quay://berths/10")
		}
		return fmt.Sprint(q.name, in), nil
	}, toolwharf.Complete("number", (*quay).numbers))
	toolwharf.AddTemplateFunc(p, "quay://{+rest}", "rest", func(_ context.Context, in struct {
		Rest string `json:"rest"`
	},
	) (string, error) {
		return "rest of " + in.Rest, nil
	})
	toolwharf.AddTemplateFunc(p, "big:{bytes}", "big", func(_ context.Context, in struct {
		Bytes int `json:"bytes"`
	},
	) ([]toolwharf.Contents, error) {
		half := strings.Repeat("x", in.Bytes/2)
		return []toolwharf.Contents{{Text: half}, {Text: half}}, nil
	})
	toolwharf.AddPrompt(p, "greet", (*quay).greet, toolwharf.Description("Greet."), toolwharf.CompleteFunc("name",
		func(_ context.Context, c toolwharf.Completion) ([]string, error) {
			if c.Value == "?" {
				return nil, errors.New("no idea")
			}
			return slices.Repeat([]string{c.Resolved["mood"] + c.Value}, 150), nil
		}))
	toolwharf.AddPromptFunc(p, "one", func(context.Context, struct{}) (toolwharf.PromptMessage, error) {
		return toolwharf.Assistant(toolwharf.Text("one")), nil
	})
	toolwharf.AddPromptFunc(p, "whole", func(context.Context, struct{}) (*toolwharf.PromptResult, error) {
		return &toolwharf.PromptResult{
			Description: "All.", Meta: json.RawMessage(`{"k":1}`),
			Messages: []toolwharf.PromptMessage{toolwharf.User(toolwharf.Image([]byte("x"), "image/png")), toolwharf.User(toolwharf.Content{})},
		}, nil
	})
	toolwharf.AddPromptFunc(p, "neither", func(context.Context, struct{}) (*toolwharf.PromptResult, error) { return nil, nil })
	toolwharf.AddPromptFunc(p, "asks", func(ctx context.Context, _ struct{}) (string, error) {
		if answer, _, ok := toolwharf.Answer[struct{ Day string }](ctx, "day"); ok {
			return answer.Day, nil
		}
		return "", toolwharf.Ask(toolwharf.Form[struct{ Day string }]("day", "Which day?"))
	})
	return p
}

func (q *quay) numbers(_ context.Context, c toolwharf.Completion) ([]string, error) {
	return []string{c.Value + "1", c.Value + q.name}, nil
}

type greeting struct {
	Name string `json:"name" jsonschema:"who" min:"1"`
	Mood string `json:"mood" enum:"warm,cool" default:"warm"`
}

func (q *quay) greet(_ context.Context, in greeting) ([]toolwharf.PromptMessage, error) {
	return []toolwharf.PromptMessage{
		toolwharf.User(toolwharf.Text(in.Mood + " " + in.Name)), toolwharf.Assistant(toolwharf.EmbedText("quay://name", "", q.name)),
	}, nil
}

func startQuay(t *testing.T, config map[string]any, opts ...toolwharf.PluginOption) *plugintest.Host {
	t.Helper()
	return plugintest.Start(t, quayPlugin(make(chan struct{}), opts...), plugintest.Config(config))
}

func TestTheCatalogueSaysWhatWasRegistered(t *testing.T) {
	h := startQuay(t, map[string]any{})
	if diff := cmp.Diff([]string{"resources", "resource_subscriptions", "prompts", "completion"}, h.Describe().GetFeatures()); diff != "" {
		t.Error(diff)
	}
	size, priority := int64(5), 0.5
	c := h.Catalog()
	if diff := cmp.Diff(&pluginv1.Resource{
		Uri: "quay://name", Name: "name", Title: "Name", Description: "Its name.", MimeType: "text/x-name", Size: &size,
		Annotations: &pluginv1.Annotations{Audience: []string{"user"}, Priority: &priority, LastModified: "2026-11-30T00:00:00Z"},
		Icons:       []*pluginv1.Icon{{Src: "https://x/i.png", MimeType: "image/png", Sizes: []string{"any"}, Theme: "dark"}},
		Meta:        []byte(`{"k":1}`),
	}, c.GetResources()[0], protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&pluginv1.ResourceTemplate{
		UriTemplate: "quay://berths/{number}{?side,after}", Name: "berth", MimeType: "text/plain",
	}, c.GetResourceTemplates()[0], protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&pluginv1.Prompt{Name: "greet", Description: "Greet.", Arguments: []*pluginv1.PromptArgument{
		{Name: "name", Description: "who", Required: true}, {Name: "mood"},
	}}, c.GetPrompts()[0], protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
}

func TestResourcesAreRead(t *testing.T) {
	h := startQuay(t, map[string]any{})
	text := func(uri, mime, text string) *pluginv1.ResourceContents {
		return &pluginv1.ResourceContents{Uri: uri, MimeType: mime, Contents: &pluginv1.ResourceContents_Text{Text: text}}
	}
	blob := func(uri, mime, data string) *pluginv1.ResourceContents {
		return &pluginv1.ResourceContents{Uri: uri, MimeType: mime, Contents: &pluginv1.ResourceContents_Blob{Blob: []byte(data)}}
	}
	replaced := text("quay://contents", "", "\uFFFD")
	replaced.Meta = []byte("{}")
	for uri, want := range map[string][]*pluginv1.ResourceContents{
		"quay://name":     {text("quay://name", "text/x-name", "north")},
		"quay://bytes":    {blob("quay://bytes", "application/octet-stream", "\x00\x01")},
		"quay://nothing":  {blob("quay://nothing", "application/octet-stream", "")},
		"quay://mood":     {text("quay://mood", "text/plain", "calm")},
		"quay://json":     {text("quay://json", "application/json", `{"what":"<tea>","took":"1m0s","list":[]}`)},
		"quay://contents": {replaced},
		"quay://list":     {text("quay://list", "", "a"), blob("quay://list/b", "image/png", "b")},
		"quay://berths/7": {text("quay://berths/7", "text/plain", "north{7 port 0s}")},
		"quay://berths/7?after=2s&side=starboard": {text("quay://berths/7?after=2s&side=starboard", "text/plain", "north{7 starboard 2s}")},
		"quay://elsewhere/1":                      {text("quay://elsewhere/1", "text/plain", "rest of elsewhere/1")},
	} {
		got := h.Read(uri)
		if diff := cmp.Diff(want, got.Contents, protocmp.Transform()); diff != "" {
			t.Errorf("%s: %v %s", uri, &got.Ending, diff)
		}
	}
	for uri, want := range map[string]string{
		"quay://berths/10":           "args_invalid (resource_not_found): there is no resource quay://berths/10",
		"quay://berths/0":            "args_invalid (resource_not_found): there is no resource quay://berths/0",
		"quay://berths/7?side=above": "args_invalid (resource_not_found): there is no resource quay://berths/7?side=above",
		"other:":                     "args_invalid (resource_not_found): there is no resource other:",
		"quay://neither":             "tool_failed (internal): the handler returned neither contents nor an error",
		"quay://wrong":               "tool_failed (resource_uri): has no scheme: an absolute URI begins like \"name:\"",
		"quay://panic":               "tool_failed (panic): panic: boom",
	} {
		if got := h.Read(uri); got.Err == nil || got.Err.Error() != want {
			t.Errorf("%s: got %v, want %s", uri, &got.Ending, want)
		}
	}
	if got := h.Read("quay://refused"); got.Protocol == nil || got.Protocol.Code != -1 || string(got.Protocol.Data) != "7" {
		t.Errorf("got %v", &got.Ending)
	}
	if got := h.Read("quay://berths/1"); len(got.Progress) != 1 {
		t.Errorf("got %v", got.Progress)
	}
}

func TestPromptsAreMade(t *testing.T) {
	h := startQuay(t, map[string]any{"name": "south"})
	got := h.Prompt("greet", map[string]string{"name": "Ada"})
	if got.Text() != "user: warm Ada" || got.Result.GetMessages()[1].GetRole() != "assistant" ||
		got.Result.GetMessages()[1].GetContent().GetResource().GetText() != "south" {
		t.Error(got.Result)
	}
	if got := h.Prompt("one", nil); got.Text() != "assistant: one" {
		t.Error(got.Result)
	}
	if got := h.Prompt("whole", nil).Result; got.GetDescription() != "All." || string(got.GetMeta()) != `{"k":1}` || len(got.GetMessages()) != 1 {
		t.Error(got)
	}
	if got := h.Prompt("asks", nil, plugintest.Answer("day", map[string]string{"Day": "Monday"})); got.Text() != "user: Monday" || got.Rounds != 2 {
		t.Error(got)
	}
	for _, c := range []struct {
		name string
		args map[string]string
		want string
	}{
		{"greet", nil, "args_invalid (invalid_args): name: must be given"},
		{"greet", map[string]string{"name": "x", "mood": "sour"}, "args_invalid (invalid_args): mood: enum: sour does not equal any of: [warm cool]"},
		{"greet", map[string]string{"name": "x", "other": "y"}, "args_invalid (invalid_args): other: must be left out: there is no such argument"},
		{"neither", nil, "tool_failed (internal): the handler returned neither a prompt nor an error"},
		{"unknown", nil, "tool_failed (unknown_prompt): the plugin has no prompt unknown"},
	} {
		if got := h.Prompt(c.name, c.args); got.Err == nil || got.Err.Error() != c.want {
			t.Errorf("%s %v: got %v, want %s", c.name, c.args, &got.Ending, c.want)
		}
	}
}

func TestValuesAreCompleted(t *testing.T) {
	h := startQuay(t, map[string]any{})
	got := h.CompletePrompt("greet", "name", "A", map[string]string{"mood": "warm"})
	if len(got.GetValues()) != 100 || got.GetTotal() != 150 || !got.GetHasMore() || got.GetValues()[0] != "warmA" {
		t.Error(got)
	}
	for what, got := range map[string]*pluginv1.CompleteResponse{
		"[warm]":      h.CompletePrompt("greet", "mood", "W", nil),
		"[]":          h.CompletePrompt("greet", "nothing", "x", nil),
		"[]?":         h.CompletePrompt("greet", "name", "?", nil),
		"[41 4north]": h.CompleteTemplate("quay://berths/{number}{?side,after}", "number", "4", nil),
		"[port]":      h.CompleteTemplate("quay://berths/{number}{?side,after}", "side", "P", nil),
	} {
		if fmt.Sprint(got.GetValues()) != strings.TrimSuffix(what, "?") || got.GetHasMore() {
			t.Errorf("got %v, want %s", got, what)
		}
	}
	if line := h.WaitLog("nothing is proposed"); !strings.Contains(line, "no idea") {
		t.Error(line)
	}
}

func TestAConfigurationBringsItsOwnTools(t *testing.T) {
	gone := make(chan struct{})
	h := plugintest.Start(t, quayPlugin(gone, toolwharf.Offers(toolwharf.FeatureTools)),
		plugintest.Config(map[string]any{"tools": []string{"load", "stow"}}), plugintest.Limits(toolwharf.Limits{MaxTools: 12}))
	if got := h.Call("stow", nil); got.Text() != "northstow" {
		t.Error(got)
	}
	if got := h.Configure(map[string]any{"tools": []string{"x y", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}}).Errors(); len(got) != 2 ||
		!strings.Contains(got[0], `tool "x y": the name`) || !strings.Contains(got[1], "13 tools are more than the 12") {
		t.Errorf("got %q", got)
	}
	if got := h.Call("load", nil); got.Text() != "northload" {
		t.Error(got)
	}
	h.Configure(map[string]any{"name": "south", "tools": []string{"load"}})
	h.WaitCatalog("no stow", func(c *pluginv1.Catalog) bool { return len(c.GetTools()) == 1 })
	if got := h.Call("load", nil); got.Text() != "southload" {
		t.Error(got)
	}
	<-gone
}

func TestWhatTheCatalogueBringsIsAnnounced(t *testing.T) {
	h := plugintest.Start(t, quayPlugin(make(chan struct{})), plugintest.Unconfigured())
	got := h.Configure(map[string]any{"tools": []string{"load"}}).Errors()
	if len(got) != 1 || got[0] != "the plugin has not said that it may have the feature tools: name it in Offers" {
		t.Errorf("got %q", got)
	}
}

// changing is a plugin whose tool changes what it offers.
func changing() *toolwharf.Plugin[toolwharf.None] {
	p := toolwharf.NewStateless(toolwharf.Info{Name: "changing"},
		toolwharf.Offers(toolwharf.FeatureSubscriptions, toolwharf.FeaturePrompts))
	say := func(context.Context, struct{}) (string, error) { return "said", nil }
	toolwharf.AddFunc(p, "keep", say)
	toolwharf.AddFunc(p, "add", func(ctx context.Context, in struct{ Name string }) (struct{}, error) {
		return struct{}{}, toolwharf.CatalogOf[toolwharf.None](ctx).Change(func(c *toolwharf.Changes[toolwharf.None]) {
			toolwharf.AddFunc(c, in.Name, say)
			toolwharf.AddPromptFunc(c, in.Name, say)
			toolwharf.AddResourceFunc(c, "r:"+in.Name, in.Name, func(context.Context) (string, error) { return in.Name, nil }, toolwharf.Subscribable())
			toolwharf.AddTemplateFunc(c, "t:"+in.Name+"/{Name}", in.Name, func(context.Context, struct{ Name string }) (string, error) { return "", nil })
		})
	})
	toolwharf.AddFunc(p, "remove", func(ctx context.Context, in struct{ Name string }) (struct{}, error) {
		return struct{}{}, toolwharf.CatalogOf[toolwharf.None](ctx).Change(func(c *toolwharf.Changes[toolwharf.None]) {
			c.RemoveTool(in.Name)
			c.RemovePrompt(in.Name)
			c.RemoveResource("r:" + in.Name)
			c.RemoveTemplate("t:" + in.Name + "/{Name}")
		})
	})
	toolwharf.AddFunc(p, "wrong", func(ctx context.Context, _ struct{}) (struct{}, error) {
		return struct{}{}, toolwharf.CatalogOf[quay](ctx).Change(func(*toolwharf.Changes[quay]) {})
	})
	toolwharf.AddFunc(p, "touch", func(ctx context.Context, in struct {
		URI   string
		Times int
	},
	) (struct{}, error) {
		for range in.Times {
			toolwharf.CatalogOf[toolwharf.None](ctx).ResourceUpdated(in.URI)
		}
		return struct{}{}, nil
	})
	return p
}

func TestTheCatalogueChangesWhileThePluginRuns(t *testing.T) {
	h := plugintest.Start(t, changing())
	counts := func(c *pluginv1.Catalog) [4]int {
		return [4]int{len(c.GetTools()), len(c.GetPrompts()), len(c.GetResources()), len(c.GetResourceTemplates())}
	}
	type named struct{ Name string }
	for i := range 20 {
		h.Call("add", named{fmt.Sprint("n", i)})
	}
	h.WaitCatalog("20 of each", func(c *pluginv1.Catalog) bool { return counts(c) == [4]int{25, 20, 20, 20} })
	if got := h.Call("n7", nil); got.Text() != "said" {
		t.Error(got)
	}
	if got := h.Read("r:n7"); got.Text() != "n7" {
		t.Error(got)
	}
	// All or nothing, with every fault.
	got := h.Call("add", named{"n7"})
	for _, want := range []string{`tool "n7": added twice`, `prompt "n7": added twice`, `resource "r:n7": added twice`, `template "t:n7/{Name}": added twice`} {
		if got.Err == nil || !strings.Contains(got.Err.Detail, want) {
			t.Errorf("missing %q in %v", want, got)
		}
	}
	for i := range 20 {
		h.Call("remove", named{fmt.Sprint("n", i)})
	}
	h.WaitCatalog("none of them", func(c *pluginv1.Catalog) bool { return counts(c) == [4]int{5, 0, 0, 0} })
	if got := h.Call("remove", named{"n7"}); got.Err == nil || strings.Count(got.Err.Detail, "there is none to remove") != 4 {
		t.Error(got)
	}
	if got := h.Call("wrong", nil); got.Err == nil || !strings.Contains(got.Err.Detail, "its state is a toolwharf.None and not a toolwharf_test.quay") {
		t.Error(got)
	}
}

func TestOnlySubscribersHearOfChanges(t *testing.T) {
	h := plugintest.Start(t, changing())
	for _, name := range []string{"a", "b"} {
		h.Call("add", map[string]string{"Name": name})
	}
	touch := func(uri string) { h.Call("touch", map[string]any{"URI": uri, "Times": 1000}) }
	h.Subscribe("r:b")
	touch("r:a")
	touch("r:b")
	h.WaitUpdate("r:b")
	h.Unsubscribe("r:b")
	h.Subscribe("r:a")
	touch("r:b")
	touch("r:a")
	h.WaitUpdate("r:a")
	if h.Updates("r:b") != 0 {
		t.Error("told of what nobody has subscribed to")
	}
}

func TestOutsideOfAPluginThereIsNoCatalogue(t *testing.T) {
	none := toolwharf.CatalogOf[toolwharf.None](t.Context())
	none.ResourceUpdated("r:x")
	none.Warn("x")
	if err := none.Change(func(*toolwharf.Changes[toolwharf.None]) {}); err == nil {
		t.Error("it has changed")
	}
}
