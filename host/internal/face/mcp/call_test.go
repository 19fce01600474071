// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

const digits = `{"n":9007199254740993,"price":1.10,"big":12345678901234567890,"e":1E+2,"neg":-0.0}`

func TestDigitsSurviveInAndOut(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		p := h.stdio(t.Context())
		for _, era := range eras {
			a := h.answer(era, call(era, "echo", digits))
			if got := string(h.last().Args.Bytes()); got != digits {
				t.Errorf("%s: the executor got %s", era, got)
			}
			if got := string(a.Structured); got != digits {
				t.Errorf("%s: structured content %s", era, got)
			}
			if a.text() != digits {
				t.Errorf("%s: text %s", era, a.text())
			}
		}
		p.send(call(versionModern, "echo", digits))
		if a := decode[answer](t, p.next().Result); string(a.Structured) != digits || a.text() != digits {
			t.Errorf("stdio: %s", a.Structured)
		}
	})
}

func TestArgumentsThatAreNotJSONAreRefusedAndRecorded(t *testing.T) {
	for name, tt := range map[string]struct{ arguments, says string }{
		"a duplicate key":     {`{"a":1,"a":2}`, `duplicate key "a"`},
		"a lone surrogate":    {`{"a":"\ud800"}`, "surrogate"},
		"too deep":            {`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "nested deeper"},
		"no object":           {`[1]`, "must be an object"},
		"a huge exponent":     {`{"a":1e999}`, "exponent"},
		"not UTF-8":           {"{\"a\":\"\xff\"}", "UTF-8"},
		"a string":            {`"{}"`, "must be an object"},
		"a control character": {"{\"a\":\"\x01\"}", "control character"},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, Config{}, func(t *testing.T, h *host) {
				for i, era := range eras {
					a := h.answer(era, call(era, "echo", tt.arguments))
					if !a.IsError || a.meta(metaErrorKind) != string(tool.ArgsInvalid) || a.meta(metaErrorCode) != "invalid_args" {
						t.Errorf("%s: %+v", era, a)
					}
					if !strings.Contains(a.text(), tt.says) {
						t.Errorf("%s: says %q", era, a.text())
					}
					if len(h.rejected) != i+1 || len(h.calls) != 0 {
						t.Errorf("%s: %d calls rejected, %d run", era, len(h.rejected), len(h.calls))
					}
				}
			})
		})
	}
}

func TestARequestThatHasAKeyTwiceIsRefused(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		for name, params := range map[string]string{
			"arguments": `"name":"echo","arguments":{"n":1},"arguments":{"n":2}`,
			"name":      `"name":"echo","name":"echo","arguments":{}`,
			"_meta":     `"name":"echo","_meta":{}`,
		} {
			a := h.answer(legacy, body(legacy, methodCallTool, params, ""))
			if !a.IsError || a.meta(metaErrorKind) != string(tool.ArgsInvalid) || !strings.Contains(a.text(), `"`+name+`" twice`) {
				t.Errorf("%s: %+v", name, a)
			}
		}
		if len(h.calls) != 0 {
			t.Error("a call was run")
		}
	})
}

func TestMissingAndNullArgumentsAreNone(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		for _, params := range []string{`"name":"echo"`, `"name":"echo","arguments":null`, `"name":"echo","arguments":{}`} {
			a := h.answer(versionModern, body(versionModern, methodCallTool, params, ""))
			if a.IsError || string(a.Structured) != "{}" {
				t.Errorf("%s: %+v", params, a)
			}
		}
	})
}

func TestUnknownToolIsAProtocolError(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		for era, status := range map[string]int{versionModern: 400, legacy: 200} {
			res, raw := h.post(era, call(era, "nope", `{}`))
			m := decode[message](t, raw)
			if res.StatusCode != status || m.Error == nil || m.Error.Code != -32602 || m.Error.Message != `unknown tool "nope"` || string(m.ID) != "1" {
				t.Errorf("%s: %d %s", era, res.StatusCode, raw)
			}
		}
	})
}

func TestErrorsAreResultsWithTheirKind(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		h.run = func(context.Context, *tool.Call) (tool.Outcome, error) {
			return nil, &tool.Error{
				Kind: tool.RateLimited, Code: "adapter_busy", Text: "try later", Detail: "secret", RetryAfter: 1500 * time.Millisecond,
				Ran: tool.RanNo, Err: errors.New("secret too"),
			}
		}
		for _, era := range eras {
			_, raw := h.post(era, call(era, "echo", `{}`))
			a := decode[answer](t, decode[message](t, raw).Result)
			if !a.IsError || a.text() != "try later" || a.meta(metaErrorKind) != "rate_limited" || a.meta(metaErrorCode) != "adapter_busy" ||
				a.meta(metaRan) != "no" || string(a.Meta[metaRetryAfter]) != "1500" {
				t.Errorf("%s: %s", era, raw)
			}
			if strings.Contains(string(raw), "secret") {
				t.Errorf("%s: the operator's detail in %s", era, raw)
			}
		}
	})
}

func TestAnAdapterCanEndARequestWithAProtocolErrorButNotInTheProtocolsName(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		for code, want := range map[int32]int64{-32602: -32602, -32021: -32603, -32700: -32603, -32000: -32603, -31999: -31999, -32769: -32769, 7: 7} {
			h.run = func(context.Context, *tool.Call) (tool.Outcome, error) {
				return nil, tool.Failed("protocol", &tool.ProtocolError{Code: code, Message: "no", Data: json.RawMessage(`{"x":1.10}`)})
			}
			m := h.ask(legacy, call(legacy, "echo", `{}`))
			if m.Error == nil || m.Error.Code != want || m.Error.Message != "no" || string(m.Error.Data) != `{"x":1.10}` {
				t.Errorf("%d became %+v", code, m.Error)
			}
		}
	})
}

func TestAClientIsToldWhichCapabilityItWouldHaveToDeclare(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		h.run = func(context.Context, *tool.Call) (tool.Outcome, error) {
			e := tool.Errorf(tool.Denied, "missing_capability", "echo needs more")
			e.Needs = json.RawMessage(`{"sampling":{}}`)
			return nil, e
		}
		res, raw := h.post(versionModern, call(versionModern, "echo", `{}`))
		m := decode[message](t, raw)
		if res.StatusCode != 400 || m.Error == nil || m.Error.Code != -32021 || m.Error.Message != "echo needs more" ||
			string(m.Error.Data) != `{"requiredCapabilities":{"sampling":{}}}` {
			t.Errorf("%d %s", res.StatusCode, raw)
		}
		// An older protocol has no such code: the model is told.
		if a := h.answer(legacy, call(legacy, "echo", `{}`)); !a.IsError || a.meta(metaErrorCode) != "missing_capability" {
			t.Errorf("%+v", a)
		}
	})
}

func TestAResultThatNoClientCouldReadIsAFault(t *testing.T) {
	for name, r := range map[string]*tool.Result{
		"structured content that is not JSON":  {Structured: json.RawMessage(`{"a":`)},
		"structured content that is not UTF-8": {Structured: json.RawMessage("\"\xff\"")},
		"_meta that is no object":              {Meta: json.RawMessage(`[]`)},
		"a block's _meta that is not JSON":     {Content: []tool.Content{&tool.Text{Text: "x", Meta: json.RawMessage(`{`)}}},
		"a block of an unknown kind":           {Content: []tool.Content{&tool.Blob{Kind: "smell"}}},
		"a block that is nothing":              {Content: []tool.Content{nil}},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, Config{}, func(t *testing.T, h *host) {
				h.run = func(context.Context, *tool.Call) (tool.Outcome, error) { return r, nil }
				a := h.answer(versionModern, call(versionModern, "echo", `{}`))
				if !a.IsError || a.text() != "tool_failed: result_unreadable" || a.meta(metaRan) != "yes" {
					t.Errorf("%+v", a)
				}
			})
		})
	}
}

func TestAPanicEndsTheRequestAndNotTheHost(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		h.run = func(context.Context, *tool.Call) (tool.Outcome, error) { panic("boom") }
		m := h.ask(versionModern, call(versionModern, "echo", `{}`))
		if m.Error == nil || m.Error.Code != -32603 || strings.Contains(m.Error.Message, "boom") {
			t.Errorf("%+v", m)
		}
		h.run = echo
		if a := h.answer(versionModern, call(versionModern, "echo", `{}`)); a.IsError {
			t.Errorf("the next call: %+v", a)
		}
	})
}

func TestAToolIsCalledByItsAliasToo(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		offer := &registry.Offer{Spec: spec("db_query"), Alias: "db.query"}
		offer.Spec.Adapter, offer.Spec.Output = "db", json.RawMessage(`{"type":"array"}`)
		offer.Spec.Seal()
		if _, err := h.registry.Replace("db", nobody{}, []*registry.Offer{offer}); err != nil {
			t.Fatal(err)
		}
		h.run = func(context.Context, *tool.Call) (tool.Outcome, error) {
			return &tool.Result{Structured: json.RawMessage(`[1]`)}, nil
		}
		for _, era := range eras {
			if a := h.answer(era, call(era, "db.query", `{}`)); string(a.Structured) != `{"result":[1]}` || a.text() != `{"result":[1]}` {
				t.Errorf("%s: %+v", era, a)
			}
		}
	})
}

func TestCallsGoOnWhenTheFaceCloses(t *testing.T) {
	eachWay(t, Config{}, func(t *testing.T, h *host) {
		h.run = func(ctx context.Context, c *tool.Call) (tool.Outcome, error) {
			h.face.Close()
			if ctx.Err() != nil {
				return nil, tool.Interrupted(ctx, "closing")
			}
			return echo(ctx, c)
		}
		for _, era := range eras {
			if a := h.answer(era, call(era, "echo", `{"n":1}`)); a.IsError {
				t.Errorf("%s: %+v", era, a)
			}
		}
	})
}
