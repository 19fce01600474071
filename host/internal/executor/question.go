// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
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
		worded, mode, err := word(c, r)
		if err != nil {
			e := tool.Failed("question", fmt.Errorf("question %.64q: %w", key, err))
			e.Sent = true
			return e
		}
		if mode == modeURL && !offer.AllowURLs {
			return fail(tool.Denied, "may_not_link", "adapter %s may not send the user to a URL", c.Spec.Adapter)
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

// The modes of an elicitation.
const (
	modeForm = "form"
	modeURL  = "url"
)

// word checks one question and puts the adapter's name before its text. mode is that
// of an elicitation.
func word(c *tool.Case, r tool.InputRequest) (worded tool.InputRequest, mode string, err error) {
	switch r.Method {
	case "elicitation/create":
	case "sampling/createMessage", "roots/list":
		return r, "", nil
	default:
		return r, "", fmt.Errorf("method %.64q is no question", r.Method)
	}
	var params map[string]json.RawMessage
	if err := json.Unmarshal(r.Params, &params); err != nil {
		return r, "", fmt.Errorf("params: %w", err)
	}
	if raw, ok := params["mode"]; ok {
		if err := json.Unmarshal(raw, &mode); err != nil {
			return r, "", fmt.Errorf("mode: %w", err)
		}
	}
	switch mode {
	case "", modeForm: // which it is by default
		mode, err = modeForm, fitForm(params["requestedSchema"])
	case modeURL:
		err = fitURL(params["url"])
	default:
		err = fmt.Errorf("mode %.32q is neither form nor url", mode)
	}
	if err != nil {
		return r, mode, err
	}
	var message string
	if err := json.Unmarshal(params["message"], &message); err != nil {
		return r, mode, fmt.Errorf("message: %w", err)
	}
	if params["message"], err = json.Marshal("[" + c.Spec.Adapter + "] " + visible([]byte(message))); err != nil {
		return r, mode, fmt.Errorf("message: %w", err)
	}
	raw, err := json.Marshal(params)
	if err != nil {
		return r, mode, fmt.Errorf("params: %w", err)
	}
	return tool.InputRequest{Method: r.Method, Params: raw}, mode, nil
}

// fitForm refuses a form that asks for a secret.
func fitForm(schema json.RawMessage) error {
	var form struct {
		Properties map[string]struct {
			Title       string `json:"title"`
			Description string `json:"description"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(schema, &form); err != nil {
		return fmt.Errorf("requestedSchema: %w", err)
	}
	for name, p := range form.Properties {
		if passwordLike.MatchString(name) || passwordLike.MatchString(p.Title) || passwordLike.MatchString(p.Description) {
			return fmt.Errorf("field %.64q asks for a secret", name)
		}
	}
	return nil
}

// maxURL is the longest that a user may be sent to, in bytes.
const maxURL = 2048

// fitURL refuses what a user cannot judge by reading it, and what is no page of the web
// that nobody in between can read: a client opens it in a browser.
func fitURL(raw json.RawMessage) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	if len(text) > maxURL {
		return fmt.Errorf("url: it is longer than %d bytes", maxURL)
	}
	for _, b := range []byte(text) {
		if b <= ' ' || b > '~' || b == '\\' {
			return errors.New("url: it has other characters than URLs have (RFC 3986)")
		}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("url: it is none") // the error would repeat it
	case u.User != nil:
		return errors.New("url: a name before its host misleads whoever reads it")
	case u.Hostname() == "":
		return errors.New("url: it names no host")
	case u.Scheme == "https" || u.Scheme == "http" && local(u.Hostname()):
		return nil
	default:
		return errors.New("url: it is not https")
	}
}

// local reports whether a host is this machine, for whoever opens it.
func local(host string) bool {
	a, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && a.IsLoopback()
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
		if mode == modeURL {
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
