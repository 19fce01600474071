// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

const (
	// maxRounds is how often an adapter may ask within one call.
	maxRounds = 10
	// maxQuestions is how many questions one round may have.
	maxQuestions = 16
	// modern is the first protocol version whose clients can be asked between
	// two requests (MCP 2026-07-28, SEP-2322).
	modern = "2026-07-28"
)

// relay passes an adapter's question on to the client: worded so that its user
// sees who asks, sealed so that the answer comes back to this call only, with
// the approval that was spent inside, so that nobody is asked twice.
func (x *Executor) relay(c *tool.Case, p *prior, offer *registry.Offer, q *tool.Question) *tool.Error {
	fail := func(kind tool.Kind, code, format string, args ...any) *tool.Error {
		e := tool.Errorf(kind, code, format, args...)
		e.Sent = true
		return e
	}
	s := newState(c)
	s.Round, s.Count, s.State = tool.NewID("round_"), 1, q.State
	if p != nil && p.round != nil {
		s.Count = p.round.Count + 1
	}
	switch {
	case !offer.MayAsk:
		return fail(tool.Denied, "may_not_ask", "adapter %s may not ask the user anything", c.Spec.Adapter)
	case s.Count > maxRounds:
		return fail(tool.ToolFailed, "too_many_rounds", "tool_failed: too_many_rounds")
	case len(q.Requests) > maxQuestions:
		return fail(tool.ToolFailed, "too_many_questions", "tool_failed: too_many_questions")
	}
	for key, r := range q.Requests {
		worded, err := word(c, r)
		if err != nil {
			e := tool.Failed("question", fmt.Errorf("question %.64q: %w", key, err))
			e.Sent = true
			return e
		}
		mode := ""
		if r.Method == "elicitation/create" {
			mode = "form"
		}
		if !canAnswer(c.Client, r.Method, mode) {
			return fail(tool.ToolError, "input_unavailable",
				"%s needs an answer (%s) that this client cannot give", c.Spec.Name, r.Method)
		}
		q.Requests[key] = worded
	}
	if x.Redactor != nil {
		x.Redactor.Outcome(c.Spec.Adapter, q)
	}
	closed, err := x.close(s)
	if err != nil {
		e := tool.Failed("state", err)
		e.Sent = true
		return e
	}
	q.State = closed
	return nil
}

// passwordLike is what no form may ask for: secrets go into the adapter's
// configuration, not through a model's client.
var passwordLike = regexp.MustCompile(`(?i)pass(word|phrase|code|wd)|secret|api.?key|access.?token|credential|(^|[^a-z])(pin|cvv|otp)([^a-z]|$)`)

// word checks one question and puts the adapter's name before its text.
func word(c *tool.Case, r tool.InputRequest) (tool.InputRequest, error) {
	switch r.Method {
	case "elicitation/create":
	case "sampling/createMessage", "roots/list":
		return r, nil
	default:
		return r, fmt.Errorf("method %.64q is no question", r.Method)
	}
	var params map[string]json.RawMessage
	if err := json.Unmarshal(r.Params, &params); err != nil {
		return r, fmt.Errorf("params: %w", err)
	}
	var (
		mode, message string
		form          struct {
			Properties map[string]struct {
				Title       string `json:"title"`
				Description string `json:"description"`
			} `json:"properties"`
		}
	)
	if raw, ok := params["mode"]; ok && json.Unmarshal(raw, &mode) != nil || mode != "" && mode != "form" {
		return r, fmt.Errorf("mode %.32q is not built yet", params["mode"])
	}
	if err := json.Unmarshal(params["message"], &message); err != nil {
		return r, fmt.Errorf("message: %w", err)
	}
	if err := json.Unmarshal(params["requestedSchema"], &form); err != nil {
		return r, fmt.Errorf("requestedSchema: %w", err)
	}
	for name, p := range form.Properties {
		if passwordLike.MatchString(name) || passwordLike.MatchString(p.Title) || passwordLike.MatchString(p.Description) {
			return r, fmt.Errorf("field %.64q asks for a secret", name)
		}
	}
	text, err := json.Marshal("[" + c.Spec.Adapter + "] " + visible([]byte(message)))
	if err != nil {
		return r, fmt.Errorf("message: %w", err)
	}
	params["message"] = text
	raw, err := json.Marshal(params)
	if err != nil {
		return r, fmt.Errorf("params: %w", err)
	}
	return tool.InputRequest{Method: r.Method, Params: raw}, nil
}

// canAnswer reports whether a client says that it can answer a question. Older
// protocols can be asked within a session only, and this host keeps none.
func canAnswer(c tool.Client, method, mode string) bool {
	if c.Protocol < modern {
		return false
	}
	var caps struct {
		Elicitation *struct {
			Form *struct{} `json:"form"`
			URL  *struct{} `json:"url"`
		} `json:"elicitation"`
		Sampling *struct{} `json:"sampling"`
		Roots    *struct{} `json:"roots"`
	}
	if len(c.Capabilities) == 0 || json.Unmarshal(c.Capabilities, &caps) != nil {
		return false
	}
	switch method {
	case "elicitation/create":
		e := caps.Elicitation
		if e == nil {
			return false
		}
		if mode == "url" {
			return e.URL != nil
		}
		return e.Form != nil || e.URL == nil // {} is form only
	case "sampling/createMessage":
		return caps.Sampling != nil
	case "roots/list":
		return caps.Roots != nil
	default:
		return false
	}
}
