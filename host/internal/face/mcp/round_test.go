// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// retry writes a call that brings back a state and answers.
func retry(era, params, state, answers string) string {
	return body(era, methodCallTool, `"inputResponses":`+answers+`,`+params+`,"requestState":`+state, "")
}

// oddAnswers are what the SDK's decoder would refuse, round or lose.
const oddAnswers = `{ "approve" : {"action":"accept","content":{"n":9007199254740993,"p":1.10}}, "unasked":{"shape":"unknown"},"n":7,"l":[null],"z":null }`

func roundIs(t *testing.T, c *tool.Call, arguments string) {
	t.Helper()
	if string(c.State) != "v1.a/b+\u00e9\"" || len(c.Answers) != 5 ||
		string(c.Answers["approve"]) != `{"action":"accept","content":{"n":9007199254740993,"p":1.10}}` ||
		string(c.Answers["unasked"]) != `{"shape":"unknown"}` || string(c.Answers["n"]) != "7" ||
		string(c.Answers["l"]) != "[null]" || string(c.Answers["z"]) != "null" {
		t.Errorf("state %q, answers %s", c.State, c.Answers)
	}
	if got := string(c.Args.Bytes()); got != arguments {
		t.Errorf("arguments %s", got)
	}
}

func TestARetryBringsBackAnswersAndStateAsSent(t *testing.T) {
	const state = `"v1.a/b+\u00e9\""`
	orders := []string{
		`"name":NAME,"arguments":ARGS,"inputResponses":` + oddAnswers + `,"requestState":` + state,
		`"requestState":` + state + `,"inputResponses":` + oddAnswers + `,"arguments":ARGS,"name":NAME`,
		`"inputResponses":` + oddAnswers + `,"name":NAME,"requestState":` + state + `,"arguments":ARGS`,
	}
	header := tool.Spec{
		Name: "route", Input: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`),
	}
	const routed = `{"region":"eu","n":9007199254740993}`
	for _, order := range orders {
		plain := strings.NewReplacer("NAME", `"echo"`, "ARGS", digits).Replace(order)
		withHeader := strings.NewReplacer("NAME", `"route"`, "ARGS", routed).Replace(order)
		eachWay(t, Config{}, func(t *testing.T, h *host) {
			h.replace("more", header)
			for _, era := range eras {
				if a := h.answer(era, body(era, methodCallTool, plain, "")); a.IsError {
					t.Errorf("%s: %+v", era, a)
				}
				roundIs(t, h.last(), digits)
				h.answer(era, body(era, methodCallTool, withHeader, ""), "Mcp-Param-Region", "eu")
				if c := h.last(); c.Name != "route" {
					t.Errorf("%s: %s was called", era, c.Name)
				}
				roundIs(t, h.last(), routed)
			}
			p := h.stdio(t.Context())
			p.send(body(versionModern, methodCallTool, plain, ""))
			if m := p.next(); m.Error != nil {
				t.Errorf("stdio: %+v", m.Error)
			}
			roundIs(t, h.last(), digits)
		})
	}
}

func TestNullAndNothingAreNoRound(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		for _, params := range []string{`"name":"echo"`, `"name":"echo","requestState":null,"inputResponses":null`, `"name":"echo","requestState":""`} {
			for _, era := range eras {
				h.answer(era, body(era, methodCallTool, params, ""))
				if c := h.last(); len(c.State) != 0 || c.Answers != nil {
					t.Errorf("%s, %s: state %q, answers %v", era, params, c.State, c.Answers)
				}
			}
		}
	})
}

// answersOfSize writes n answers, the first of them with a value of so many bytes.
func answersOfSize(n, size int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"0":"%s"`, strings.Repeat("x", size-2))
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, `,"%d":1`, i)
	}
	return b.String() + "}"
}

func TestWhatCannotBeAnAnswerOrAStateIsRefused(t *testing.T) {
	for name, tt := range map[string]struct{ state, answers, says string }{
		"a state that is too long":         {`"` + strings.Repeat("s", maxState+1) + `"`, `{}`, "invalid request state: it has more than 65536 bytes"},
		"a state that is no string":        {`{"a":1}`, `{}`, "invalid request state"},
		"too many answers":                 {`"s"`, answersOfSize(maxAnswers+1, 2), "invalid inputResponses: more than 64 of them"},
		"an answer that is too long":       {`"s"`, answersOfSize(1, maxAnswer+1), "invalid inputResponses: one has more than 65536 bytes"},
		"a key that is too long":           {`"s"`, `{"` + strings.Repeat("k", maxAnswer+1) + `":1}`, "invalid inputResponses: one has more than 65536 bytes"},
		"an answer that is there twice":    {`"s"`, `{"a":{"action":"decline"},"\u0061":{"action":"accept"}}`, `duplicate key "a"`},
		"an answer that says yes and no":   {`"s"`, `{"a":{"action":"decline","action":"accept"}}`, `duplicate key "action"`},
		"an answer that is not UTF-8":      {`"s"`, "{\"a\":\"\xff\"}", "UTF-8"},
		"answers that are a list":          {`"s"`, `[]`, "invalid inputResponses: not an object"},
		"answers that are a string":        {`"s"`, `"{}"`, "invalid inputResponses: not an object"},
		"answers without a state, bad too": {`null`, `7`, "invalid inputResponses: not an object"},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, Config{}, func(t *testing.T, h *host) {
				for _, era := range eras {
					res, raw := h.post(era, strings.Replace(retry(era, `"name":"echo"`, tt.state, tt.answers), `"id":1`, `"id":7`, 1))
					m := decode[message](t, raw)
					if m.Error == nil || m.Error.Code != -32602 || !strings.Contains(m.Error.Message, tt.says) || string(m.ID) != "7" {
						t.Errorf("%s: %s", era, raw)
					}
					if want := map[bool]int{true: 400, false: 200}[modern(era)]; res.StatusCode != want {
						t.Errorf("%s: %d", era, res.StatusCode)
					}
				}
				p := h.stdio(t.Context())
				p.send(retry(versionModern, `"name":"echo"`, tt.state, tt.answers))
				if m := p.next(); m.Error == nil || m.Error.Code != -32602 || !strings.Contains(m.Error.Message, tt.says) {
					t.Errorf("stdio: %+v", m)
				}
				if len(h.calls)+len(h.rejected) != 0 {
					t.Errorf("%d calls run, %d rejected", len(h.calls), len(h.rejected))
				}
				p.send(call(versionModern, "echo", `{"n":1}`))
				if m := p.next(); m.Error != nil || len(h.calls) != 1 {
					t.Errorf("the next call over stdio: %+v", m.Error)
				}
				if a := h.answer(versionModern, call(versionModern, "echo", `{"n":1}`)); a.IsError {
					t.Errorf("the next call: %+v", a)
				}
			})
		})
	}
}

func TestWhatFitsIsTaken(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		for _, era := range eras {
			h.answer(era, retry(era, `"name":"echo"`, `"`+strings.Repeat("s", maxState)+`"`, answersOfSize(maxAnswers, maxAnswer)))
			if c := h.last(); len(c.State) != maxState || len(c.Answers) != maxAnswers || len(c.Answers["0"]) != maxAnswer {
				t.Errorf("%s: a state of %d bytes, %d answers", era, len(c.State), len(c.Answers))
			}
		}
	})
}

func TestABatchHasNoRounds(t *testing.T) {
	h := newHost(t, Config{}).serve()
	const era = "2025-03-26"
	_, raw := h.post(era, `[`+body(era, methodCallTool, `"name":"echo","arguments":{},"requestState":"s"`, "")+`]`)
	if !strings.Contains(string(raw), `"message":"invalid request state"`) || len(h.calls) != 0 {
		t.Errorf("%s", raw)
	}
}

func TestAStateThatTheExecutorDoesNotTakeIsAProtocolError(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		h.run = func(context.Context, *tool.Call) (tool.Outcome, error) { return nil, executor.ErrInvalidState }
		for _, era := range eras {
			m := h.ask(era, retry(era, `"name":"echo"`, `"s"`, `{}`))
			if m.Error == nil || m.Error.Code != -32602 || m.Error.Message != "invalid request state" || m.Error.Data != nil {
				t.Errorf("%s: %+v", era, m)
			}
		}
	})
}

func TestNothingOfStateOrAnswersIsLogged(t *testing.T) {
	log := &record{}
	eachWay(t, Config{Log: log.logger()}, func(t *testing.T, h *host) {
		outcomes := map[string]func(context.Context, *tool.Call) (tool.Outcome, error){
			"echo":    echo,
			"invalid": func(context.Context, *tool.Call) (tool.Outcome, error) { return nil, executor.ErrInvalidState },
			"failed":  func(context.Context, *tool.Call) (tool.Outcome, error) { return nil, tool.Failed("x", errors.New("y")) },
			"panic":   func(context.Context, *tool.Call) (tool.Outcome, error) { panic("boom") },
			"none":    func(context.Context, *tool.Call) (tool.Outcome, error) { return nil, nil },
		}
		for _, run := range outcomes {
			h.run = run
			for _, era := range eras {
				for _, answers := range []string{`{"hushkey":{"action":"hushvalue"}}`, `{"hushkey":["hushvalue","hushvalue`, `{"hushkey":1,"hushkey":2}`, `"hushvalue"`} {
					h.post(era, retry(era, `"name":"echo"`, `"hushstate"`, answers))
					h.post(era, retry(era, `"name":"echo"`, `{"hushstate":1}`, answers))
				}
			}
		}
		p := h.stdio(t.Context())
		p.send(retry(versionModern, `"name":"echo"`, `"hushstate"`, `{"hushkey":{"action":"hushvalue"},"hushkey":1}`))
		p.next()
	})
	got := log.String()
	if !strings.Contains(got, "boom") {
		t.Errorf("the log is not this one: %s", got)
	}
	if strings.Contains(got, "hush") {
		t.Errorf("logged: %s", got)
	}
}
