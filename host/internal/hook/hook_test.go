// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package hook_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/hook"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// port serves one adapter's hooks.
type port func(context.Context, *tool.Attempt) (tool.Outcome, error)

func (p port) Run(ctx context.Context, a *tool.Attempt) (tool.Outcome, error) { return p(ctx, a) }

func (p port) Hold(adapter string) (tool.Runner, func(), bool) {
	return p, func() {}, adapter == "scanner" && p != nil
}

func args(t *testing.T, s string) tool.JSON {
	t.Helper()
	j, err := tool.ParseArgs([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func caseOf(t *testing.T, name string) *tool.Case {
	t.Helper()
	c := &tool.Call{Op: tool.OpTool, Name: name, Args: args(t, `{"n":1}`), Events: func(tool.Event) {}, State: []byte("s")}
	return &tool.Case{Call: c, ID: "call_1", RunID: "run_1", Spec: &tool.Spec{Name: name, Adapter: "orders"}, Args: c.Args}
}

// says answers every question alike, and fails the test at one that is not about
// the call as it stands.
func says(t *testing.T, j *tool.Judgement, err error) port {
	return func(_ context.Context, a *tool.Attempt) (tool.Outcome, error) {
		if a.Hooked == nil || a.Hooked.Tool != "orders_get" || a.Hooked.Adapter != "orders" || string(a.Hooked.Args.Bytes()) != `{"n":1}` ||
			(a.Op == tool.OpAfter) != (a.Hooked.Result != nil) || a.ID != "call_1" || a.Events != nil || a.Call.State != nil {
			t.Errorf("asked %+v of %+v", a, a.Hooked)
		}
		if err != nil {
			return nil, err
		}
		return j, nil
	}
}

func all() []hook.Power { return []hook.Power{hook.Refuse, hook.EditArguments, hook.EditResult} }

func TestAHookJudgesWithItsPowersOnly(t *testing.T) {
	edit, refusal := &tool.Judgement{Args: args(t, `{"n":2}`)}, &tool.Judgement{Refusal: tool.Errorf(tool.Denied, "no", "no")}
	for name, c := range map[string]struct {
		port     port
		powers   []hook.Power
		open     bool
		decision tool.Decision
		code     string
	}{
		"nothing against it":          {says(t, &tool.Judgement{}, nil), all(), false, tool.Pass, ""},
		"edits":                       {says(t, edit, nil), all(), false, tool.Edit, ""},
		"edits nothing":               {says(t, &tool.Judgement{Args: args(t, `{ "n": 1 }`)}, nil), all(), false, tool.Pass, ""},
		"refuses":                     {says(t, refusal, nil), all(), false, tool.Refuse, "no"},
		"edits without the power":     {says(t, edit, nil), []hook.Power{hook.Refuse}, false, tool.Refuse, "hook_failed"},
		"refuses without the power":   {says(t, refusal, nil), []hook.Power{hook.EditArguments}, false, tool.Refuse, "hook_failed"},
		"may only edit results":       {says(t, refusal, nil), []hook.Power{hook.EditResult}, false, tool.Pass, ""},
		"fails":                       {says(t, nil, errors.New("crash")), all(), false, tool.Refuse, "hook_failed"},
		"fails, open":                 {says(t, nil, errors.New("crash")), all(), true, tool.Pass, ""},
		"is not there":                {nil, all(), false, tool.Refuse, "hook_failed"},
		"is not there, open":          {nil, all(), true, tool.Pass, ""},
		"oversteps its powers, open":  {says(t, edit, nil), []hook.Power{hook.Refuse}, true, tool.Pass, ""},
		"answers with something else": {func(context.Context, *tool.Attempt) (tool.Outcome, error) { return &tool.Result{}, nil }, all(), false, tool.Refuse, "hook_failed"},
		"takes longer than it may":    {slow, all(), false, tool.Refuse, "hook_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hook.Hook{
				Adapter: "scanner", Tools: []string{"orders_*"}, Powers: c.powers, Timeout: 20 * time.Millisecond, FailOpen: c.open,
				On: c.port, Log: slog.New(slog.DiscardHandler),
			}
			v, err := h.Judge(t.Context(), caseOf(t, "orders_get"))
			if err != nil || v.Decision != c.decision {
				t.Fatalf("%+v, %v", v, err)
			}
			if v.Err != nil && (v.Err.Code != c.code || v.Err.Kind != tool.Denied || strings.Contains(v.Err.Text, "crash")) {
				t.Errorf("refused with %+v", v.Err)
			}
			if v.Decision == tool.Edit && string(v.Args.Bytes()) != `{"n":2}` {
				t.Errorf("edited to %s", v.Args.Bytes())
			}
		})
	}
}

func slow(ctx context.Context, _ *tool.Attempt) (tool.Outcome, error) {
	<-ctx.Done()
	return nil, tool.Interrupted(ctx, "thinking")
}

func TestAHookJudgesResults(t *testing.T) {
	edited := &tool.Judgement{Result: &tool.Result{Structured: []byte(`2`)}}
	refusal := &tool.Judgement{Refusal: tool.Errorf(tool.Denied, "no", "no")}
	for name, c := range map[string]struct {
		j      *tool.Judgement
		powers []hook.Power
		code   string
		result string
	}{
		"nothing against it":      {&tool.Judgement{}, all(), "", "1"},
		"edits":                   {edited, all(), "", "2"},
		"refuses":                 {refusal, all(), "no", ""},
		"edits without the power": {edited, []hook.Power{hook.Refuse}, "hook_failed", ""},
		"may only edit arguments": {edited, []hook.Power{hook.EditArguments}, "", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &hook.Hook{
				Adapter: "scanner", Tools: []string{"*"}, Powers: c.powers, On: says(t, c.j, nil), Log: slog.New(slog.DiscardHandler),
			}
			r := &tool.Result{Structured: []byte(`1`), Cost: "0.5"}
			err := h.Apply(t.Context(), caseOf(t, "orders_get"), r)
			if c.code != "" {
				if e := tool.AsError(err); e == nil || e.Code != c.code {
					t.Fatalf("ended with %v", err)
				}
				return
			}
			if err != nil || string(r.Structured) != c.result || r.Cost != "0.5" {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}

func TestAHookSeesOnlyWhatItIsNamedFor(t *testing.T) {
	h := &hook.Hook{
		Adapter: "scanner", Tools: []string{"shop_*"}, Powers: all(), Log: slog.New(slog.DiscardHandler),
		On: port(func(context.Context, *tool.Attempt) (tool.Outcome, error) { t.Error("it was asked"); return nil, nil }),
	}
	resource := caseOf(t, "shop_x")
	resource.Op = tool.OpResource
	for _, c := range []*tool.Case{caseOf(t, "orders_get"), resource} {
		if v, err := h.Judge(t.Context(), c); err != nil || v.Decision != tool.Pass {
			t.Errorf("%+v, %v", v, err)
		}
		if err := h.Apply(t.Context(), c, &tool.Result{}); err != nil {
			t.Error(err)
		}
	}
}

func TestWhoCancelsACallDoesNotMakeItsHookFail(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := &hook.Hook{Adapter: "scanner", Tools: []string{"*"}, Powers: all(), FailOpen: true, On: port(slow), Log: slog.New(slog.DiscardHandler)}
	v, err := h.Judge(ctx, caseOf(t, "orders_get"))
	if err != nil || v.Decision != tool.Refuse || v.Err.Kind != tool.Cancelled {
		t.Errorf("%+v, %v", v, err)
	}
}
