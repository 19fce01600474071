// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/ledger"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/rules"
	"github.com/toolwharf/toolwharf/host/internal/schema"
	"github.com/toolwharf/toolwharf/host/internal/store/sqlite"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// marker is a hook that marks what it sees, if it has no mark, and refuses what is
// bad.
type marker struct{ mark atomic.Pointer[string] }

func (*marker) Name() string   { return "hook:marker" }
func (*marker) Origin() string { return "marker" }

func (m *marker) Judge(_ context.Context, c *tool.Case) (tool.Verdict, error) {
	var args map[string]any
	if err := json.Unmarshal(c.Args.Bytes(), &args); err != nil {
		return tool.Verdict{}, err
	}
	if args["text"] == "bad" {
		return tool.Refused("bad", tool.Errorf(tool.Denied, "bad", "bad")), nil
	}
	if args["mark"] != nil {
		return tool.Passed("marked"), nil
	}
	args["mark"] = *m.mark.Load()
	raw, err := json.Marshal(args)
	if err != nil {
		return tool.Verdict{}, err
	}
	edited, err := tool.ParseArgs(raw)
	return tool.Verdict{Decision: tool.Edit, Args: edited}, err
}

func (*marker) Apply(context.Context, *tool.Case, *tool.Result) error { return nil }

// ran keeps what an adapter was sent.
type ran struct{ args []string }

func (r *ran) Run(_ context.Context, a *tool.Attempt) (tool.Outcome, error) {
	r.args = append(r.args, string(a.Args.Bytes()))
	return &tool.Result{}, nil
}

// What a hook makes of the arguments is what is approved: the caller comes back
// with its own, and the hook sees them again.
func TestWhatAHookEditedIsWhatIsApprovedAndComesBack(t *testing.T) {
	for name, c := range map[string]struct {
		edited  string // by the operator
		remark  string // what the hook marks with by then
		code    string
		expects string
	}{
		"the same":                                {"", "a", "", `{"mark":"a","text":"x"}`},
		"the hook has changed its mind":           {"", "b", "approval_mismatch", ""},
		"edited by the operator":                  {`{"text":"y","mark":"op"}`, "a", "", `{"text":"y","mark":"op"}`},
		"edited to what the hook refuses":         {`{"text":"bad","mark":"op"}`, "a", "bad", ""},
		"edited to what the hook would edit more": {`{"text":"y"}`, "a", "hook_edits_approved", ""},
	} {
		t.Run(name, func(t *testing.T) {
			x, store, hook, runner := hookedHost(t)
			first := "a"
			hook.mark.Store(&first)
			call := &tool.Call{
				Op: tool.OpTool, Name: "orders_add", Args: parse(t, `{"text":"x"}`), Resumable: true, Run: "r",
				Principal: tool.Principal{Kind: tool.Stdio, Subject: "ann"},
			}
			out, err := x.Do(t.Context(), call)
			p, pending := out.(*tool.Pending)
			if !pending || err != nil {
				t.Fatalf("%T, %v", out, err)
			}
			d := approval.Decision{Approve: true, By: "operator/ops"}
			if c.edited != "" {
				d.Edited = parse(t, c.edited).Bytes()
			}
			if _, err := store.Decide(t.Context(), p.Approval, d); err != nil {
				t.Fatal(err)
			}
			hook.mark.Store(&c.remark)
			back := *call
			back.Run, back.Key = p.Run, p.Call
			_, err = x.Do(t.Context(), &back)
			if e := tool.AsError(err); c.code != "" && (e == nil || e.Code != c.code) || c.code == "" && e != nil {
				t.Fatalf("ended with %v", err)
			}
			if got := strings.Join(runner.args, " "); got != c.expects {
				t.Errorf("ran %s", got)
			}
		})
	}
}

func parse(t *testing.T, s string) tool.JSON {
	t.Helper()
	j, err := tool.ParseArgs([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func hookedHost(t *testing.T) (*executor.Executor, *sqlite.Store, *marker, *ran) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "t.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close(context.Background()) })
	input, err := schema.Compile(json.RawMessage(`{"type":"object"}`), schema.Input)
	if err != nil {
		t.Fatal(err)
	}
	o := &registry.Offer{Spec: tool.Spec{Name: "orders_add", Adapter: "orders", Declared: "add", Effects: tool.Additive}, Input: input}
	o.Spec.Seal()
	r, runner, hook := registry.New(), &ran{}, &marker{}
	if _, err := r.Replace("orders", runner, []*registry.Offer{o}); err != nil {
		t.Fatal(err)
	}
	policy, err := rules.New(nil, rules.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	return executor.New(executor.Config{
		Keyer: ledger.NewKeyer([]byte("key")), Registry: r, Gates: []executor.Gate{policy, approval.Gate{Asks: true}}, Hooks: []executor.Hook{hook}, Journal: store, Approvals: store,
		Asking: executor.Asking{Deferred: true, Expires: time.Hour, Quota: approval.Quota{PerPrincipal: 2, Total: 3}},
		Host:   store.Host(), Log: slog.New(slog.DiscardHandler),
	}), store, hook, runner
}
