// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
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

type never struct{}

func (never) Run(context.Context, *tool.Attempt) (tool.Outcome, error) { panic("it ran") }

func TestAPrincipalThatHasTooManyCallsPendingIsRefusedAndOthersAreNot(t *testing.T) {
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "t.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	input, err := schema.Compile(json.RawMessage(`{"type":"object"}`), schema.Input)
	if err != nil {
		t.Fatal(err)
	}
	o := &registry.Offer{Spec: tool.Spec{Name: "orders_add", Adapter: "orders", Declared: "add", Effects: tool.Additive}, Input: input}
	o.Spec.Seal()
	r := registry.New()
	if _, err := r.Replace("orders", never{}, []*registry.Offer{o}); err != nil {
		t.Fatal(err)
	}
	policy, err := rules.New(nil, rules.Defaults{})
	if err != nil {
		t.Fatal(err)
	}
	x := executor.New(executor.Config{
		Keyer: ledger.NewKeyer([]byte("key")), Registry: r, Gates: []executor.Gate{policy, approval.Gate{Asks: true}}, Journal: store, Approvals: store,
		Asking: executor.Asking{Deferred: true, Expires: time.Hour, Quota: approval.Quota{PerPrincipal: 2, Total: 3}},
		Host:   store.Host(), Log: slog.New(slog.DiscardHandler),
	})
	ask := func(user string) string {
		args, err := tool.ParseArgs(nil)
		if err != nil {
			t.Fatal(err)
		}
		out, err := x.Do(t.Context(), &tool.Call{
			Op: tool.OpTool, Name: "orders_add", Args: args, Principal: tool.Principal{Kind: tool.Stdio, Subject: user}, Resumable: true,
		})
		if _, pending := out.(*tool.Pending); pending && err == nil {
			return "pending"
		}
		var e *tool.Error
		if !errors.As(err, &e) || e.Kind != tool.RateLimited || e.RetryAfter <= 0 {
			t.Fatalf("%s: %T, %v", user, out, err)
		}
		return e.Code
	}
	for i, c := range []struct{ user, want string }{
		{"ann", "pending"},
		{"ann", "pending"},
		{"ann", "too_many_pending"},
		{"bob", "pending"},
		{"eve", "too_many_pending"}, // 3 in all
	} {
		if got := ask(c.user); got != c.want {
			t.Errorf("call %d, of %s: %s, want %s", i, c.user, got, c.want)
		}
	}
}
