// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// both runs a test of the API inside of the process and over a socket: a
// command sees no difference.
func both(t *testing.T, f *fake, test func(*testing.T, API)) {
	t.Helper()
	s := service(t, f)
	t.Run("in the process", func(t *testing.T) { test(t, s) })
	t.Run("over a socket", func(t *testing.T) {
		dir := state(t)
		serve(t, dir, s)
		test(t, dial(t, dir))
	})
}

func TestWhatThereIs(t *testing.T) {
	both(t, &fake{}, func(t *testing.T, api API) {
		h, err := api.Host(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := &Host{Name: "toolwharf", Version: "1", PID: 7, Config: "/c.yaml", Serves: "stdio", Started: started, Notes: []string{"n"}}
		if diff := cmp.Diff(want, h); diff != "" {
			t.Errorf("host (-want +got):\n%s", diff)
		}
		adapters, err := api.Adapters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wantAdapters := []Adapter{{Name: "orders", Plugin: "sql", State: "ready", Since: started, Prefix: "orders_", Tools: 1, Sandbox: "none", Retry: &started}}
		if diff := cmp.Diff(wantAdapters, adapters); diff != "" {
			t.Errorf("adapters (-want +got):\n%s", diff)
		}
		tools, err := api.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(tools) != 1 || !strings.HasPrefix(tools[0].Digest, "sha256:") {
			t.Fatalf("%+v", tools)
		}
		wantTools := []Tool{{
			Name: "orders_get", Alias: "orders.get", Adapter: "orders", Declared: "get", Title: "Get", Description: "Gets.",
			Effects: tool.ReadOnly, Idempotent: true, Approval: true, Tags: []string{"a"},
			Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{}`), Digest: tools[0].Digest,
		}}
		if diff := cmp.Diff(wantTools, tools); diff != "" {
			t.Errorf("tools (-want +got):\n%s", diff)
		}
	})
}

func TestACallIsTheOperators(t *testing.T) {
	f := &fake{do: gives(&tool.Result{})}
	both(t, f, func(t *testing.T, api API) {
		f.done = nil
		if _, err := api.Call(t.Context(), "orders_get", json.RawMessage(`{"n": 9007199254740993.0}`), Keys{}); err != nil {
			t.Fatal(err)
		}
		c := f.done[0]
		if c.Op != tool.OpTool || !c.Principal.Is(operator) || c.Client.Name != "toolwharf" || c.Run != "" || c.Key != "" {
			t.Errorf("%+v", c)
		}
		if got := string(c.Args.Bytes()); got != `{"n": 9007199254740993.0}` {
			t.Errorf("arguments %s", got)
		}
		if _, err := api.Call(t.Context(), "orders_get", nil, Keys{}); err != nil || string(f.done[1].Args.Bytes()) != `{}` {
			t.Errorf("without arguments: %v", err)
		}
	})
}

func TestWhatACallGives(t *testing.T) {
	fault := tool.Failed("database", errors.New("connection refused"))
	fault.Detail, fault.Sent, fault.Ran = "at line 3", true, tool.RanUnknown
	busy := tool.Errorf(tool.RateLimited, "adapter_busy", "try again later")
	busy.RetryAfter = 1500 * time.Millisecond
	for name, tc := range map[string]struct {
		do   func(context.Context, *tool.Call) (tool.Outcome, error)
		want *Answer
	}{
		"nothing": {gives(&tool.Result{}), &Answer{}},
		"structured content": {
			gives(&tool.Result{Structured: json.RawMessage(`{"n":9007199254740993}`)}),
			&Answer{Structured: json.RawMessage(`{"n":9007199254740993}`)},
		},
		"blocks of every kind": {
			gives(&tool.Result{Content: []tool.Content{
				&tool.Text{Text: "größer"}, &tool.Blob{Kind: "image", MIMEType: "image/png", Data: make([]byte, 9)},
				&tool.Link{URI: "file:///a", MIMEType: "a/b", Name: "n"},
				&tool.Embedded{URI: "x:1", Text: "t"}, &tool.Embedded{URI: "x:2", MIMEType: "c/d", Blob: make([]byte, 4)},
			}}),
			&Answer{Content: []Block{
				{Type: "text", Text: "größer"},
				{Type: "image", MIMEType: "image/png", Bytes: 9},
				{Type: "resource_link", URI: "file:///a", MIMEType: "a/b"},
				{Type: "resource", URI: "x:1", Text: "t"},
				{Type: "resource", URI: "x:2", MIMEType: "c/d", Bytes: 4},
			}},
		},
		"a fault, with the operator's side of it": {
			func(context.Context, *tool.Call) (tool.Outcome, error) { return nil, fault },
			&Answer{Error: &Failure{
				Kind: tool.ToolFailed, Code: "database", Text: "tool_failed: database", Detail: "at line 3: connection refused", Ran: tool.RanUnknown,
			}},
		},
		"an error that says when to try again": {
			func(context.Context, *tool.Call) (tool.Outcome, error) { return nil, busy },
			&Answer{Error: &Failure{Kind: tool.RateLimited, Code: "adapter_busy", Text: "try again later", RetryAfter: 1500}},
		},
		"a question": {
			func(context.Context, *tool.Call) (tool.Outcome, error) { return &tool.Question{}, nil },
			&Answer{Error: &Failure{
				Kind: tool.ToolFailed, Code: "input_required_unsupported", Text: "tool_failed: input_required_unsupported",
				Detail: "the tool asks for input, which the command line cannot give yet",
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, &fake{do: tc.do}, func(t *testing.T, api API) {
				got, err := api.Call(t.Context(), "orders_get", json.RawMessage(`{}`), Keys{})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestArgumentsThatAreNoneAreAnErrorOfTheCallAndRecorded(t *testing.T) {
	f := &fake{}
	both(t, f, func(t *testing.T, api API) {
		for _, args := range []string{`{`, `[]`, `{"a":1,"a":2}`, `{} {}`, "\xff"} {
			f.rejected = nil
			got, err := api.Call(t.Context(), "orders_get", json.RawMessage(args), Keys{})
			if err != nil || got.Error == nil || got.Error.Kind != tool.ArgsInvalid || got.Error.Code != "invalid_args" {
				t.Errorf("%s: %+v, %v", args, got, err)
			}
			if len(f.rejected) != 1 || f.rejected[0].Name != "orders_get" || f.rejected[0].Principal.String() != operator.String() {
				t.Errorf("%s: rejected %+v", args, f.rejected)
			}
			e, err := api.Explain(t.Context(), "orders_get", json.RawMessage(args), nil)
			if err != nil {
				t.Fatal(err)
			}
			want := &executor.Explanation{
				Tool: "orders_get", Adapter: "orders", Effects: tool.ReadOnly, Verdict: tool.Refuse,
				Gate: "door", Kind: tool.ArgsInvalid, Code: "invalid_args", Text: e.Text,
				Steps: []executor.Step{{Gate: "door", Verdict: tool.Refuse, Reason: e.Text}},
			}
			if diff := cmp.Diff(want, e); diff != "" {
				t.Errorf("%s (-want +got):\n%s", args, diff)
			}
		}
	})
	if len(f.done)+len(f.explaining) != 0 {
		t.Error("they went on all the same")
	}
}

func TestExplainGivesTheExecutorsWords(t *testing.T) {
	f := &fake{}
	both(t, f, func(t *testing.T, api API) {
		got, err := api.Explain(t.Context(), "orders_get", json.RawMessage(`{"a":1}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := &executor.Explanation{
			Tool: "orders_get", Adapter: "orders", Effects: tool.ReadOnly, Verdict: tool.Pass,
			Steps: []executor.Step{{Gate: "validate", Verdict: tool.Pass, Reason: "fine"}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	for _, c := range f.explaining {
		if !c.Principal.Is(operator) || string(c.Args.Bytes()) != `{"a":1}` {
			t.Errorf("%+v", c)
		}
	}
	if len(f.done) != 0 {
		t.Error("it was run")
	}
}

func TestAToolThatIsNotThereIsNotFoundWhateverItsName(t *testing.T) {
	both(t, &fake{}, func(t *testing.T, api API) {
		for _, name := range []string{"orders_drop", "", ".", "..", "a/b", "a%2Fb", "a b", "größe", "?x=1", "#", "orders_get/call", "../host"} {
			for _, args := range []string{`{}`, `{`} {
				want := &NotFoundError{What: "tool", Name: name}
				var got *NotFoundError
				if _, err := api.Call(t.Context(), name, json.RawMessage(args), Keys{}); !errors.As(err, &got) || *got != *want {
					t.Errorf("call of %q with %s: %v", name, args, err)
				}
				if _, err := api.Explain(t.Context(), name, json.RawMessage(args), nil); !errors.As(err, &got) || *got != *want {
					t.Errorf("explain of %q with %s: %v", name, args, err)
				}
			}
		}
	})
	if got := (&NotFoundError{"tool", "x"}).Error(); got != `no tool "x"` {
		t.Errorf("worded as %q", got)
	}
}

func TestABodyThatIsTooLargeIsRefused(t *testing.T) {
	f := &fake{do: gives(&tool.Result{})}
	dir := state(t)
	s := service(t, f)
	serve(t, dir, s)
	c := dial(t, dir)
	args := func(n int) json.RawMessage { return json.RawMessage(`{"a":"` + strings.Repeat("x", n-8) + `"}`) }
	if _, err := c.Call(t.Context(), "orders_get", args(maxBody), Keys{}); err != nil {
		t.Errorf("as large as may be: %v", err)
	}
	for name, call := range map[string]func() error{
		"call":    func() error { _, err := c.Call(t.Context(), "orders_get", args(maxBody+1), Keys{}); return err },
		"explain": func() error { _, err := c.Explain(t.Context(), "orders_get", args(8*maxBody), nil); return err },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "arguments are larger than 1048576 bytes") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// And by whoever does not use this client.
	w := httptest.NewRecorder()
	Handler(s).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/tools/orders_get/call", strings.NewReader(string(args(maxBody+1)))))
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "larger than") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if len(f.done) != 1 {
		t.Errorf("%d calls", len(f.done))
	}
}

func TestWhatTheAPIDoesNotHaveIsNotThere(t *testing.T) {
	h := Handler(service(t, &fake{}))
	for request, want := range map[string]int{
		"GET /v1/host": http.StatusOK, "GET /": http.StatusNotFound, "GET /v1/secrets": http.StatusNotFound,
		"POST /v1/host": http.StatusMethodNotAllowed, "GET /v1/tools/orders_get/call": http.StatusMethodNotAllowed,
	} {
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		if w.Code != want {
			t.Errorf("%s: %d", request, w.Code)
		}
	}
}

func TestACallerThatGoesAwayTakesItsCallWithIt(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	f := &fake{do: func(ctx context.Context, _ *tool.Call) (tool.Outcome, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return nil, tool.Interrupted(ctx, "working")
	}}
	dir := state(t)
	serve(t, dir, service(t, f))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	if _, err := dial(t, dir).Call(ctx, "orders_get", nil, Keys{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	select {
	case <-ended:
	case <-time.After(bound):
		t.Error("the call goes on")
	}
}
