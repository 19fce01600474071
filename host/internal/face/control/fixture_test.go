// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.uber.org/goleak"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// role is the variable that says what the test binary is to be when a test
// starts it again.
const role = "CONTROL_TEST_ROLE"

// roles are filled in by the tests that need them.
var roles = map[string]func(){}

func TestMain(m *testing.M) {
	if act, ok := roles[os.Getenv(role)]; ok {
		act()
		return
	}
	goleak.VerifyTestMain(m)
}

// bound is how long something may take that a busy machine does late.
const bound = 30 * time.Second

// fake is an executor that does what a test says.
type fake struct {
	do func(context.Context, *tool.Call) (tool.Outcome, error)

	mu                         sync.Mutex
	done, rejected, explaining []*tool.Call
}

func (f *fake) Do(ctx context.Context, c *tool.Call) (tool.Outcome, error) {
	f.mu.Lock()
	f.done = append(f.done, c)
	f.mu.Unlock()
	if c.Name != "orders_get" {
		return nil, &executor.UnknownError{Name: c.Name}
	}
	return f.do(ctx, c)
}

func (f *fake) Reject(_ context.Context, c *tool.Call, err *tool.Error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rejected = append(f.rejected, c)
	if c.Name != "orders_get" {
		return &executor.UnknownError{Name: c.Name}
	}
	return err
}

func (f *fake) Explain(_ context.Context, c *tool.Call) (*executor.Explanation, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.explaining = append(f.explaining, c)
	if c.Name != "orders_get" {
		return nil, &executor.UnknownError{Name: c.Name}
	}
	return &executor.Explanation{
		Tool: c.Name, Adapter: "orders", Effects: tool.ReadOnly, Verdict: tool.Pass,
		Steps: []executor.Step{{Gate: "validate", Verdict: tool.Pass, Reason: "fine"}},
	}, nil
}

func gives(r *tool.Result) func(context.Context, *tool.Call) (tool.Outcome, error) {
	return func(context.Context, *tool.Call) (tool.Outcome, error) { return r, nil }
}

var (
	started  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	operator = tool.Principal{Kind: tool.Operator, Subject: "ann"}
	yes      = true
)

// service is an API with one tool, orders_get.
func service(t testing.TB, f *fake) *Service {
	t.Helper()
	r := registry.New()
	o := &registry.Offer{
		Alias: "orders.get",
		Spec: tool.Spec{
			Name: "orders_get", Adapter: "orders", Declared: "get", Title: "Get", Description: "Gets.", Effects: tool.ReadOnly,
			Idempotent: true, Confirm: &yes, Tags: []string{"a"}, Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{}`),
		},
	}
	o.Spec.Seal()
	if _, err := r.Replace("orders", idle{}, []*registry.Offer{o}); err != nil {
		t.Fatal(err)
	}
	return &Service{
		About: func() Host {
			return Host{Name: "toolwharf", Version: "1", PID: 7, Config: "/c.yaml", Serves: "stdio", Started: started, Notes: []string{"n"}}
		},
		Moored: func() []Adapter {
			return []Adapter{{Name: "orders", Plugin: "sql", State: "ready", Since: started, Prefix: "orders_", Tools: 1, Sandbox: "none", Retry: &started}}
		},
		Catalogue: r, Executor: f, Operator: operator,
	}
}

type idle struct{}

func (idle) Run(context.Context, *tool.Attempt) (tool.Outcome, error) { return nil, nil }

// state is a state directory, short enough for sockets.
func state(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tw-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// serve serves an API in a state directory until the end of the test.
func serve(t testing.TB, dir string, api API) *Server {
	t.Helper()
	s, err := Listen(dir, api, nil, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), bound)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s
}

// dial finds the host of a state directory.
func dial(t testing.TB, dir string) *Client {
	t.Helper()
	c, err := Dial(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}
