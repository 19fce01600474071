// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugintest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
	"github.com/toolwharf/toolwharf/sdk/go"
	"github.com/toolwharf/toolwharf/sdk/go/plugintest"
)

func TestTheExample(t *testing.T) { greets(t) }

type shopConfig struct {
	Key    toolwharf.Secret `json:"key"`
	Dir    string           `json:"dir" default:"/srv"`
	Extras []string         `json:"extras,omitempty"`
}

type shop struct{ conf shopConfig }

func (s *shop) CheckHealth(context.Context) error {
	if s.conf.Key == "ill" {
		return errors.New("not well")
	}
	return nil
}

type size struct {
	Size int `json:"size"`
}

func shopPlugin() *toolwharf.Plugin[shop] {
	p := toolwharf.New(toolwharf.Info{Name: "shop", Version: "1"},
		func(ctx context.Context, c shopConfig) (*shop, error) {
			offered := toolwharf.CatalogOf[shop](ctx)
			err := offered.Change(func(ch *toolwharf.Changes[shop]) {
				for _, name := range c.Extras {
					toolwharf.AddFunc(ch, name, func(context.Context, struct{}) (string, error) { return name, nil })
				}
			})
			offered.Warn("open since now")
			return &shop{c}, err
		},
		toolwharf.Check(func(ctx context.Context, c shopConfig) ([]toolwharf.Grant, error) {
			if c.Key == "bad" {
				return nil, toolwharf.ConfigFault("/key", "is bad")
			}
			toolwharf.ConfigWarning(ctx, "/dir", "is a default")
			return []toolwharf.Grant{toolwharf.Read(c.Dir), toolwharf.Connect("db:1")}, nil
		}))
	toolwharf.AddTool(p, "key", func(s *shop, ctx context.Context, _ struct{}) (string, error) {
		toolwharf.Log(ctx).Info("asked for the key")
		toolwharf.Progress(ctx, 1, 2, "half")
		toolwharf.Notify(ctx, toolwharf.LevelInfo, "here it comes")
		return s.conf.Key.Reveal() + " of " + toolwharf.CallInfo(ctx).Principal, nil
	})
	toolwharf.AddFunc(p, "ask", func(ctx context.Context, _ struct{}) (int, error) {
		answer, action, ok := toolwharf.Answer[size](ctx, "size")
		switch {
		case !ok:
			return 0, toolwharf.Ask(toolwharf.Form[size]("size", "Which size?"))
		case action != toolwharf.ActionAccept:
			return 0, toolwharf.ToolError("declined", "no size")
		}
		return answer.Size, nil
	})
	toolwharf.AddFunc(p, "wait", func(ctx context.Context, _ struct{}) (string, error) {
		toolwharf.Log(ctx).Info("waiting")
		<-ctx.Done()
		return "", ctx.Err()
	})
	toolwharf.AddResource(p, "shop://dir", "dir", func(s *shop, _ context.Context) (string, error) { return s.conf.Dir, nil },
		toolwharf.Subscribable())
	toolwharf.AddFunc(p, "touch", func(ctx context.Context, _ struct{}) (struct{}, error) {
		toolwharf.CatalogOf[shop](ctx).ResourceUpdated("shop://dir")
		return struct{}{}, nil
	})
	toolwharf.AddPromptFunc(p, "praise", func(_ context.Context, in struct {
		What string `json:"what" enum:"fish,bread"`
	},
	) (string, error) {
		return "Praise the " + in.What + ".", nil
	})
	toolwharf.AddBeforeTool(p, func(_ *shop, _ context.Context, call toolwharf.Hooked) (json.RawMessage, error) {
		switch {
		case strings.Contains(string(call.Arguments), "stolen"):
			return nil, toolwharf.Denied("stolen", "not "+call.Adapter)
		case strings.Contains(string(call.Arguments), "rotten"):
			return json.RawMessage(`{"what":"fresh"}`), nil
		}
		return nil, nil
	})
	toolwharf.AddAfterTool(p, func(_ *shop, _ context.Context, _ toolwharf.Hooked, r toolwharf.Result) (*toolwharf.Result, error) {
		if text, _ := r.Content[0].Text(); text == "x" {
			return nil, nil
		}
		out := toolwharf.TextResult("sold")
		return &out, nil
	})
	return p
}

func config(key string, extras ...string) map[string]any {
	return map[string]any{"key": key, "extras": append([]string{}, extras...)}
}

func TestTheHostDoesWhatHostsDo(t *testing.T) {
	h := plugintest.Start(t, shopPlugin(), plugintest.Config(config("k")))
	t.Run("describe", func(t *testing.T) {
		got := fmt.Sprint(h.Describe().GetName(), h.Describe().GetFeatures())
		if got != "shop[tools resources resource_subscriptions prompts completion hooks]" {
			t.Error(got)
		}
	})
	t.Run("configure", func(t *testing.T) {
		c := h.Check(config("k"))
		if fmt.Sprint(c.Grants()) != "[{read /srv} {connect db:1}]" || fmt.Sprint(c.Errors(), c.Warnings()) != "[] [/dir: is a default]" {
			t.Error(c.Grants(), c.Errors(), c.Warnings())
		}
		if c := h.Configure(config("bad")); fmt.Sprint(c.Errors()) != "[/key: is bad]" {
			t.Error(c.Errors())
		}
		h.WaitNote("open since")
	})
	t.Run("call", func(t *testing.T) {
		out := h.Call("key", nil, plugintest.As(toolwharf.Call{Principal: "ada"}))
		if out.Text() != "k of ada" || len(out.Progress) != 1 || len(out.Logs) != 1 || out.Rounds != 1 {
			t.Error(out, out.Progress, out.Logs)
		}
		var text string
		if out.Into(&text); text != "k of ada" {
			t.Error(text)
		}
		if out := h.Call("key", nil, plugintest.Quiet()); len(out.Progress)+len(out.Logs) != 0 {
			t.Error(out.Progress, out.Logs)
		}
		if line := h.WaitLog("asked for the key"); !strings.Contains(line, "call_test") || !strings.Contains(h.Logs(), line) {
			t.Error(line)
		}
	})
	t.Run("ask", func(t *testing.T) {
		if out := h.Call("ask", nil); out.Question.GetRequests()["size"] == nil || out.Result != nil {
			t.Error(out)
		}
		if out := h.Call("ask", nil, plugintest.Answer("size", size{7})); out.Text() != "7" || out.Rounds != 2 {
			t.Error(out)
		}
		if out := h.Call("ask", nil, plugintest.Decline("size")); out.Err == nil || out.Err.Code != "declined" {
			t.Error(out)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			h.WaitLog("msg=waiting")
			cancel()
		}()
		if out := h.Call("wait", nil, plugintest.Within(ctx)); out.Err == nil || out.Err.Kind != toolwharf.KindCancelled {
			t.Error(out)
		}
	})
	t.Run("read", func(t *testing.T) {
		if r := h.Read("shop://dir"); r.Text() != "/srv" || r.Contents[0].GetMimeType() != "text/plain" {
			t.Error(r)
		}
		if r := h.Read("shop://nowhere"); r.Err == nil || r.Err.Code != "resource_not_found" {
			t.Error(r)
		}
		h.Subscribe("shop://dir")
		h.Call("touch", nil)
		h.WaitUpdate("shop://dir")
		h.Unsubscribe("shop://dir")
	})
	t.Run("prompt", func(t *testing.T) {
		if p := h.Prompt("praise", map[string]string{"what": "fish"}); p.Text() != "user: Praise the fish." {
			t.Error(p)
		}
		if p := h.Prompt("praise", nil); p.Err == nil || p.Err.Text != "what: must be given" {
			t.Error(p)
		}
		if c := h.CompletePrompt("praise", "what", "B", nil); fmt.Sprint(c.GetValues()) != "[bread]" {
			t.Error(c)
		}
	})
	t.Run("hooks", func(t *testing.T) {
		if v := h.Before("bakery", "bakery_buy", map[string]string{"what": "bread"}); !v.Passed() {
			t.Error(v)
		}
		if v := h.Before("bakery", "bakery_buy", map[string]string{"what": "rotten"}); string(v.Arguments) != `{"what":"fresh"}` {
			t.Error(v)
		}
		if v := h.Before("bakery", "bakery_buy", map[string]string{"what": "stolen"}); v.Refusal.GetCode() != "stolen" || v.Refusal.GetText() != "not bakery" {
			t.Error(v)
		}
		if v := h.After("bakery", "bakery_buy", struct{}{}, plugintest.TextResult("x")); !v.Passed() {
			t.Error(v)
		}
		if v := h.After("bakery", "bakery_buy", struct{}{}, plugintest.TextResult("y")); v.Result.GetContent()[0].GetText().GetText() != "sold" {
			t.Error(v)
		}
	})
	t.Run("configure again", func(t *testing.T) {
		h.Configure(config("other", "bread", "fish"))
		h.WaitTool("fish")
		if out := h.Call("bread", nil); out.Text() != "bread" {
			t.Error(out)
		}
		h.Configure(config("ill"))
		h.WaitCatalog("no extras", func(c *pluginv1.Catalog) bool { return len(c.GetTools()) == 4 })
		if err := h.Health(); err == nil {
			t.Error("well")
		}
	})
}

func TestAPluginMayStayUnconfigured(t *testing.T) {
	h := plugintest.Start(t, shopPlugin(), plugintest.Unconfigured(), plugintest.Adapter("a"), plugintest.CacheDir(t.TempDir()),
		plugintest.Limits(toolwharf.Limits{CallTimeout: time.Second}))
	if h.Catalog() != nil || h.Health() != nil {
		t.Error(h.Catalog(), h.Health())
	}
}
