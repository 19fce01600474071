// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	mcpsdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// approveForm is a question as an executor asks it.
func approveForm() *tool.Question {
	return &tool.Question{
		State: []byte("sealed.1"),
		Requests: map[string]tool.InputRequest{"approve": {Method: "elicitation/create", Params: json.RawMessage(
			`{"mode":"form","message":"Approve <echo> & \u2028?","requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean"}},"required":["approve"]}}`,
		)}},
	}
}

// askOnce asks a form on the first call, and takes the answer on the retry.
func askOnce(_ context.Context, c *tool.Call) (tool.Outcome, error) {
	switch {
	case !modern(c.Client.Protocol):
		return &tool.Pending{Approval: "apr_X", Run: c.Run, Call: c.Key}, nil
	case len(c.State) == 0:
		return approveForm(), nil
	case string(c.State) != "sealed.1":
		return nil, executor.ErrInvalidState
	}
	var a struct {
		Action  string
		Content struct{ Approve bool }
	}
	if json.Unmarshal(c.Answers["approve"], &a) != nil || a.Action != "accept" || !a.Content.Approve {
		return nil, tool.Errorf(tool.ApprovalDenied, "approval_declined", "%s was not run", c.Name)
	}
	return &tool.Result{Structured: json.RawMessage(`{"ran":true}`)}, nil
}

// elicitor is a client's user.
type elicitor struct {
	asked  []*mcpsdk.ElicitParams
	result *mcpsdk.ElicitResult
}

func (e *elicitor) options() *mcpsdk.ClientOptions {
	return &mcpsdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcpsdk.ElicitRequest) (*mcpsdk.ElicitResult, error) {
		e.asked = append(e.asked, r.Params)
		return e.result, nil
	}}
}

func TestTheOfficialClientsUserIsAskedAndTheRetryBringsTheAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		result *mcpsdk.ElicitResult
		answer string
		kind   string
	}{
		"yes":      {&mcpsdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": true}}, `{"action":"accept","content":{"approve":true}}`, ""},
		"a no":     {&mcpsdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": false}}, `{"action":"accept","content":{"approve":false}}`, "approval_denied"},
		"declined": {&mcpsdk.ElicitResult{Action: "decline"}, `{"action":"decline"}`, "approval_denied"},
		"cancel":   {&mcpsdk.ElicitResult{Action: "cancel"}, `{"action":"cancel"}`, "approval_denied"},
	} {
		for _, transport := range []string{"http", "stdio"} {
			t.Run(name+"/"+transport, func(t *testing.T) {
				eachWay(t, Config{}, func(t *testing.T, h *host) {
					h.run = askOnce
					user := &elicitor{result: tt.result}
					s := h.connect(versionModern, transport, user.options())
					for range 2 { // on the direct way the client is an acquaintance by now
						h.calls, user.asked = nil, nil
						res, err := s.CallTool(t.Context(), &mcpsdk.CallToolParams{Name: "echo", Arguments: json.RawMessage(`{"n":1}`)})
						if err != nil {
							t.Fatal(err)
						}
						kind, _ := res.Meta[metaErrorKind].(string)
						if res.IsError != (tt.kind != "") || kind != tt.kind || res.NeedsInput() || len(res.Content) != 1 {
							t.Errorf("result %+v", res)
						}
						if len(user.asked) != 1 || user.asked[0].Message != "Approve <echo> & \u2028?" || user.asked[0].Mode != "form" || user.asked[0].RequestedSchema == nil {
							t.Errorf("asked %+v", user.asked)
						}
						if len(h.calls) != 2 {
							t.Fatalf("%d calls", len(h.calls))
						}
						first, second := h.calls[0], h.calls[1]
						if len(first.State) != 0 || first.Answers != nil {
							t.Errorf("the first call brings %q and %s", first.State, first.Answers)
						}
						if string(second.State) != "sealed.1" || len(second.Answers) != 1 || string(second.Answers["approve"]) != tt.answer {
							t.Errorf("the retry brings %q and %s", second.State, second.Answers)
						}
						if string(second.Args.Bytes()) != `{"n":1}` || !strings.Contains(string(second.Client.Capabilities), "elicitation") {
							t.Errorf("the retry is %+v", second)
						}
					}
				})
			})
		}
	}
}

func TestAnswersThatNobodyAskedForAreLeftToTheExecutor(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		h.run = askOnce
		for answers, kind := range map[string]string{
			`{"approve":{"action":"accept","content":{"approve":true}},"unasked":{"what":"ever"},"n":7}`: "",
			`{"unasked":{"action":"accept","content":{"approve":true}}}`:                                 "approval_denied",
			`{"approve":"yes"}`: "approval_denied",
			`{}`:                "approval_denied",
		} {
			a := h.answer(versionModern, retry(versionModern, `"name":"echo"`, `"sealed.1"`, answers))
			if a.meta(metaErrorKind) != kind || a.ResultType != resultComplete {
				t.Errorf("%s: %+v", answers, a)
			}
		}
	})
}

func TestTheOfficialClientIsToldOfAnInvalidState(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		h.run = func(_ context.Context, c *tool.Call) (tool.Outcome, error) {
			if len(c.State) > 0 {
				return nil, executor.ErrInvalidState
			}
			return approveForm(), nil
		}
		user := &elicitor{result: &mcpsdk.ElicitResult{Action: "accept"}}
		s := h.connect(versionModern, "http", user.options())
		_, err := s.CallTool(t.Context(), &mcpsdk.CallToolParams{Name: "echo"})
		var protocol *jsonrpc.Error
		if !errors.As(err, &protocol) || protocol.Code != jsonrpc.CodeInvalidParams || len(user.asked) != 1 {
			t.Errorf("%v, asked %d times", err, len(user.asked))
		}
	})
}

func TestQuestionsAsClientsSeeThem(t *testing.T) {
	for name, q := range map[string]*tool.Question{
		"form": approveForm(),
		"several": {State: []byte("v1.x"), Requests: map[string]tool.InputRequest{
			"z\"<": {Method: "roots/list"},
			"a":    {Method: "sampling/createMessage", Params: json.RawMessage("{ \"maxTokens\" : 9007199254740993, \"temperature\": 1.10,\n \"messages\": [] }")},
			"m":    {Method: "elicitation/create", Params: json.RawMessage(`{"message":"é😀"}`)},
		}},
		"stateless": {Requests: map[string]tool.InputRequest{"r": {Method: "roots/list", Params: json.RawMessage(`{}`)}}},
		"state":     {State: []byte("v1.x")},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, Config{}, func(t *testing.T, h *host) {
				h.run = func(context.Context, *tool.Call) (tool.Outcome, error) { return q, nil }
				_, raw := h.post(versionModern, call(versionModern, "echo", `{}`))
				golden(t, "question/"+name+".golden.json", raw)
				isInputRequired(t, raw)
			})
		})
	}
}

// isInputRequired holds a response against the schema's InputRequiredResult (MCP
// 2026-07-28).
func isInputRequired(t *testing.T, raw []byte) {
	t.Helper()
	result := decode[map[string]json.RawMessage](t, decode[message](t, raw).Result)
	if string(result["resultType"]) != `"input_required"` {
		t.Errorf("resultType is %s", result["resultType"])
	}
	for key, value := range decode[map[string]map[string]json.RawMessage](t, result["inputRequests"]) {
		method, _ := textOf(value["method"])
		switch method {
		case "elicitation/create", "sampling/createMessage", "roots/list":
		default:
			t.Errorf("%s has method %s", key, value["method"])
		}
		if params := value["params"]; len(value) != 2 || params[0] != '{' {
			t.Errorf("%s is %s", key, value)
		}
	}
	for key := range result {
		switch key {
		case "resultType", "inputRequests", "_meta":
		case "requestState":
			if s, ok := textOf(result[key]); !ok || s == "" {
				t.Errorf("requestState is %s", result[key])
			}
		default:
			t.Errorf("it has a %s", key)
		}
	}
}

func TestAQuestionWaitsForNoStream(t *testing.T) {
	h := newHost(t, Config{}).serve()
	h.run = askOnce
	s, _ := h.open(t.Context(), body(versionModern, methodCallTool, `"name":"echo"`, `,"progressToken":1`))
	m, ok := s.next()
	if a := decode[answer](t, m.Result); !ok || a.ResultType != resultInputRequired {
		t.Errorf("%s", m.Result)
	}
}

func TestAnOlderClientCannotBeAsked(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		h.run = func(context.Context, *tool.Call) (tool.Outcome, error) { return approveForm(), nil }
		a := h.answer(legacy, call(legacy, "echo", `{}`))
		if !a.IsError || a.meta(metaErrorKind) != "tool_failed" || a.meta(metaErrorCode) != "input_required_unsupported" ||
			a.text() != "tool_failed: input_required_unsupported" {
			t.Errorf("%+v", a)
		}
	})
}

func TestAQuestionThatNoClientCouldReadIsAFault(t *testing.T) {
	for name, q := range map[string]*tool.Question{
		"nothing":                   {},
		"params that are not JSON":  {Requests: map[string]tool.InputRequest{"a": {Method: "roots/list", Params: json.RawMessage(`{`)}}},
		"params that are not UTF-8": {Requests: map[string]tool.InputRequest{"a": {Method: "roots/list", Params: json.RawMessage("\"\xff\"")}}},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, Config{}, func(t *testing.T, h *host) {
				h.run = func(context.Context, *tool.Call) (tool.Outcome, error) { return q, nil }
				a := h.answer(versionModern, call(versionModern, "echo", `{}`))
				if !a.IsError || a.text() != "tool_failed: question_unreadable" || a.meta(metaRan) != "unknown" {
					t.Errorf("%+v", a)
				}
			})
		})
	}
}

func TestResultsOfRetriesAreNotForCaches(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		h.run = askOnce
		for _, req := range []string{
			call(versionModern, "echo", `{}`),
			retry(versionModern, `"name":"echo"`, `"sealed.1"`, `{"approve":{"action":"accept","content":{"approve":true}}}`),
			retry(versionModern, `"name":"echo"`, `"sealed.1"`, `{}`),
		} {
			res, raw := h.post(versionModern, req)
			result := decode[map[string]json.RawMessage](t, decode[message](t, raw).Result)
			if result["ttlMs"] != nil || result["cacheScope"] != nil || !strings.Contains(res.Header.Get("Cache-Control"), "no-cache") {
				t.Errorf("%v %s", res.Header, raw)
			}
		}
	})
}
