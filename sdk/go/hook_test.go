// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
	"github.com/toolwharf/toolwharf/sdk/go"
	"github.com/toolwharf/toolwharf/sdk/go/plugintest"
)

// judge is a plugin whose hooks do what the arguments say.
func judge() *toolwharf.Plugin[toolwharf.None] {
	p := toolwharf.NewStateless(toolwharf.Info{Name: "judge"})
	verdict := func(ctx context.Context, call toolwharf.Hooked) (string, error) {
		var in struct{ Do string }
		if err := json.Unmarshal(call.Arguments, &in); err != nil {
			return "", err
		}
		switch in.Do {
		case "refuse":
			return "", toolwharf.Denied("not_here", "not "+call.Tool+" of "+call.Adapter).Because(errors.New("for the operator"))
		case "fail":
			return "", errors.New("dsn=secret")
		case "panic":
			panic("boom")
		case "ask":
			return "", toolwharf.Ask(toolwharf.Request("k", "roots/list", nil))
		case "who":
			return "", toolwharf.Denied("who", toolwharf.CallInfo(ctx).Principal)
		}
		return in.Do, nil
	}
	toolwharf.AddBeforeTool(p, func(_ *toolwharf.None, ctx context.Context, call toolwharf.Hooked) (json.RawMessage, error) {
		do, err := verdict(ctx, call)
		switch do {
		case "edit":
			return json.RawMessage(`{"edited":9007199254740993.0}`), err
		case "wrong":
			return json.RawMessage(`[]`), err
		case "large":
			return json.RawMessage(`{"x":"` + strings.Repeat("x", 16<<20) + `"}`), err
		}
		return nil, err
	})
	toolwharf.AddAfterTool(p, func(_ *toolwharf.None, ctx context.Context, call toolwharf.Hooked, r toolwharf.Result) (*toolwharf.Result, error) {
		do, err := verdict(ctx, call)
		switch do {
		case "edit":
			for i, block := range r.Content {
				r.Content[i] = block.WithText(strings.ToUpper(textOf(block)))
			}
			r.Structured = json.RawMessage("1.10")
			return &r, err
		case "large":
			r := toolwharf.TextResult(strings.Repeat("x", 16<<20))
			return &r, err
		}
		return nil, err
	})
	return p
}

func textOf(c toolwharf.Content) string {
	text, _ := c.Text()
	return text
}

func TestHooksPassEditAndRefuse(t *testing.T) {
	h := plugintest.Start(t, judge())
	do := func(what string) map[string]string { return map[string]string{"Do": what} }
	result := plugintest.TextResult("ahoy")
	result.Content = append(result.Content,
		&pluginv1.Content{Block: &pluginv1.Content_Resource{Resource: &pluginv1.ResourceContents{
			Uri: "a:", MimeType: "text/x", Contents: &pluginv1.ResourceContents_Text{Text: "deep"},
		}}, Meta: []byte(`{"k":1}`)},
		&pluginv1.Content{Block: &pluginv1.Content_Image{Image: &pluginv1.BlobContent{Data: []byte("x"), MimeType: "image/png"}}})
	result.Meta, result.Usage = []byte(`{"m":1}`), &pluginv1.Usage{Cost: "0.1"}

	if v := h.Before("sql", "sql_query", do("pass")); !v.Passed() {
		t.Error(v)
	}
	if v := h.After("sql", "sql_query", do("pass"), result); !v.Passed() {
		t.Error(v)
	}
	if v := h.Before("sql", "sql_query", do("edit")); string(v.Arguments) != `{"edited":9007199254740993.0}` {
		t.Error(v)
	}
	got := h.After("sql", "sql_query", do("edit"), result).Result
	if string(got.GetStructured()) != "1.10" || got.GetContent()[0].GetText().GetText() != "AHOY" || string(got.GetMeta()) != `{"m":1}` ||
		got.GetUsage().GetCost() != "0.1" || got.GetContent()[1].GetResource().GetText() != "DEEP" || got.GetContent()[1].GetResource().GetMimeType() != "text/x" ||
		string(got.GetContent()[1].GetMeta()) != `{"k":1}` || string(got.GetContent()[2].GetImage().GetData()) != "x" {
		t.Error(got)
	}
	for what, want := range map[string]*pluginv1.Refusal{
		"refuse": {Code: "not_here", Text: "not sql_query of sql", Detail: "for the operator"},
		// Hooks fail closed, and the model learns nothing of why.
		"fail":  {Code: "internal", Detail: "dsn=secret"},
		"panic": {Code: "panic", Detail: "panic: boom"},
		"ask":   {Code: "internal", Detail: "input required: k"},
		"who":   {Code: "who", Text: "ada"},
	} {
		as := plugintest.As(toolwharf.Call{Principal: "ada"})
		for where, v := range map[string]*plugintest.Verdict{
			"before": h.Before("sql", "sql_query", do(what), as), "after": h.After("sql", "sql_query", do(what), result, as),
		} {
			if r := v.Refusal; r.GetCode() != want.GetCode() || r.GetText() != want.GetText() || r.GetDetail() != want.GetDetail() {
				t.Errorf("%s %s: got %v, want %v", what, where, r, want)
			}
		}
	}
	if v := h.Before("sql", "sql_query", do("wrong")); v.Refusal.GetCode() != "hook_result" {
		t.Error(v)
	}
	if v := h.Before("sql", "sql_query", do("large")); v.Refusal.GetCode() != "result_too_large" {
		t.Error(v.Refusal)
	}
	if v := h.After("sql", "sql_query", do("large"), result); v.Refusal.GetCode() != "result_too_large" {
		t.Error(v.Refusal)
	}
}

// One hook alone lets the other side pass.
func TestAHookThatIsNotThereLetsPass(t *testing.T) {
	p := toolwharf.NewStateless(toolwharf.Info{Name: "half"})
	toolwharf.AddBeforeTool(p, func(*toolwharf.None, context.Context, toolwharf.Hooked) (json.RawMessage, error) {
		return nil, toolwharf.Denied("", "no")
	})
	h := plugintest.Start(t, p)
	if v := h.After("a", "t", struct{}{}, plugintest.TextResult("x")); !v.Passed() {
		t.Error(v)
	}
	if v := h.Before("a", "t", struct{}{}); v.Refusal.GetCode() != "denied" {
		t.Error(v)
	}
}

func TestResultsOfEverySizeArrive(t *testing.T) {
	p := toolwharf.NewStateless(toolwharf.Info{Name: "sizes"})
	toolwharf.AddFunc(p, "text", func(_ context.Context, in struct{ Bytes int }) (string, error) {
		return strings.Repeat("x", in.Bytes-2), nil
	})
	toolwharf.AddFunc(p, "block", func(_ context.Context, in struct{ Bytes int }) (toolwharf.Result, error) {
		return toolwharf.TextResult(strings.Repeat("x", in.Bytes)), nil
	})
	toolwharf.AddTemplateFunc(p, "r:{pieces}/{bytes}", "r", func(_ context.Context, in struct {
		Pieces int `json:"pieces"`
		Bytes  int `json:"bytes"`
	},
	) (list []toolwharf.Contents, err error) {
		for range in.Pieces {
			list = append(list, toolwharf.Contents{Text: strings.Repeat("x", in.Bytes)})
		}
		return list, nil
	})
	toolwharf.AddPromptFunc(p, "p", func(_ context.Context, in struct{ Bytes int }) (string, error) {
		return strings.Repeat("x", in.Bytes), nil
	})
	const message, most = 256 << 10, 1 << 20
	h := plugintest.Start(t, p, plugintest.Limits(toolwharf.Limits{MaxMessageBytes: message, MaxResultBytes: most}))
	type bytes struct{ Bytes int }
	for n, parts := range map[int]int{2: 0, message - 64<<10: 0, message - 64<<10 + 1: 2, most: 6} {
		var text string
		out := h.Call("text", bytes{n})
		if out.Into(&text); len(text) != n-2 || out.Parts != parts {
			t.Errorf("%d: %d bytes in %d parts", n, len(text), out.Parts)
		}
	}
	if out := h.Call("text", bytes{most + 1}); out.Err == nil || out.Err.Kind != toolwharf.KindResultTooLarge || out.Err.Ran != toolwharf.RanYes ||
		out.Err.Text != "the result has 1048577 bytes, the limit is 1048576" {
		t.Error(&out.Ending)
	}
	if out := h.Call("block", bytes{message}); out.Err == nil || !strings.HasPrefix(out.Err.Text, "the block of the result has") {
		t.Error(&out.Ending)
	}
	if r := h.Read("r:4/190000"); len(r.Text()) != 760000 || r.Parts != 4 {
		t.Error(r.Parts, len(r.Text()), &r.Ending)
	}
	if r := h.Read("r:2/1000"); r.Parts != 0 || len(r.Text()) != 2000 {
		t.Error(r.Parts, &r.Ending)
	}
	for uri, want := range map[string]string{"r:1/262144": "the content of the resource has 262144 bytes", "r:6/190000": "the resource has 1140000 bytes"} {
		if r := h.Read(uri); r.Err == nil || r.Err.Kind != toolwharf.KindResultTooLarge || !strings.HasPrefix(r.Err.Text, want) || r.Err.Ran != toolwharf.RanNo {
			t.Error(uri, &r.Ending)
		}
	}
	if r := h.Prompt("p", map[string]string{"Bytes": "262144"}); r.Err == nil || r.Err.Kind != toolwharf.KindResultTooLarge {
		t.Error(&r.Ending)
	}
}
