// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
	"github.com/toolwharf/toolwharf/sdk/go/internal/schema"
)

// Bounds of one round of questions.
const (
	// MaxState is the largest state that travels from round to round, in bytes.
	MaxState = 32 << 10
	// maxQuestions is how many questions hosts pass on at once.
	maxQuestions = 16
	// maxQuestionBytes is the largest params of all questions together.
	maxQuestionBytes = 1 << 20
	// maxKey is the longest key of a question, in bytes.
	maxKey = 128
)

// The methods of [Request], and that of [Form].
const (
	methodElicit = "elicitation/create"
	methodSample = "sampling/createMessage"
	methodRoots  = "roots/list"
)

// InputRequest is one question; see [Form] and [Request]. Its mistakes are
// reported by [Asks] when the plugin starts, and otherwise where it is asked.
type InputRequest struct {
	key, method string
	params      json.RawMessage
	err         error
}

// Form asks the client's user to fill in T, a flat struct: text, numbers, true or
// false, a choice (text with an enum tag), a choice of several (a list of text
// with one). The formats that clients know are email, uri, date and date-time. See
// the package comment for the tags. [Answer] reads what came back by the same
// key and type.
//
// The host puts the adapter's name before the message, and refuses fields whose
// names or descriptions ask for a password or another secret; so does Form.
func Form[T any](key, message string) InputRequest {
	q := InputRequest{key: key, method: methodElicit}
	form, err := schema.Form(reflect.TypeFor[T](), known())
	if err != nil {
		q.err = err
		return q
	}
	if message == "" {
		q.err = errors.New("a form without a message")
		return q
	}
	return q.with(struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}{"form", valid(message), form.JSON})
}

// Request asks the client whatever MCP lets a server ask: "elicitation/create",
// "sampling/createMessage" or "roots/list". Params is marshalled to a JSON object;
// nil is the empty one. [Response] reads what came back.
func Request(key, method string, params any) InputRequest {
	q := InputRequest{key: key, method: method}
	if !slices.Contains([]string{methodElicit, methodSample, methodRoots}, method) {
		q.err = fmt.Errorf("method %.64q is not one of %s, %s and %s", method, methodElicit, methodSample, methodRoots)
		return q
	}
	if params == nil {
		params = struct{}{}
	}
	return q.with(params)
}

// with sets the params, which are marshalled without the escapes for HTML.
func (q InputRequest) with(params any) InputRequest {
	q.params, q.err = (*schema.Type)(nil).Encode(params)
	if q.err == nil && !bytes.HasPrefix(bytes.TrimSpace(q.params), []byte("{")) {
		q.err = errors.New("params are not a JSON object")
	}
	return q
}

// fault is what is wrong with a question, with its key.
func (q InputRequest) fault() error {
	err := q.err
	switch {
	case q.method == "":
		return errors.New("a question that is neither a Form nor a Request")
	case q.key == "" || len(q.key) > maxKey || !utf8.ValidString(q.key):
		err = errors.Join(fmt.Errorf("a key is UTF-8 of 1 to %d bytes", maxKey), err)
	case err == nil:
		return nil
	}
	return fmt.Errorf("question %.64q: %w", q.key, err)
}

// InputRequired is a call that cannot go on before the client has answered: a
// handler returns it as its error. See [Ask].
type InputRequired struct { //nolint:errname // the protocol's name; nothing went wrong
	requests []InputRequest
	state    []byte
	err      error
}

// Ask ends this round of a call with questions to the client:
//
//	return out, toolwharf.Ask(toolwharf.Form[Colour]("colour", "Which colour?"))
//
// When they are answered, the handler is called anew with the same arguments and
// the same [Call].ID; [Answer] and [Response] then find the answers, [RoundState]
// the state. Nothing else is kept between rounds, and the next one may come to
// another process or never: what a handler does before it asks may be done again,
// so ask first and act afterwards. A host passes on 16 questions at once, and
// asks at most ten times in one call; a client that cannot answer is not asked
// (see [ClientCan]) and the call fails. No question and a state: the client just
// comes back.
//
// An [*Error] that wraps it, or is joined with it, is an error and asks nothing.
func Ask(questions ...InputRequest) *InputRequired {
	return &InputRequired{requests: slices.Clone(questions)}
}

// State sets what the handler gets back with the answers, at most [MaxState]
// bytes: a []byte as it is, anything else as JSON. The host seals it, so that it
// comes back unchanged and to this plugin only; clients cannot read it.
func (r *InputRequired) State(v any) *InputRequired {
	if raw, ok := v.([]byte); ok {
		r.state = slices.Clone(raw)
		return r
	}
	raw, err := (*schema.Type)(nil).Encode(v)
	if err != nil {
		r.err = fmt.Errorf("state: %w", err)
	}
	r.state = raw
	return r
}

// Error names the questions.
func (r *InputRequired) Error() string {
	keys := make([]string, 0, len(r.requests))
	for _, q := range r.requests {
		keys = append(keys, q.key)
	}
	return "input required: " + strings.Join(keys, ", ")
}

// asked is the question that a handler returned as its error, or the error that
// it is.
func asked(err error) (*pluginv1.InputRequired, error) {
	if _, refused := errors.AsType[*Error](err); refused {
		return nil, err
	}
	r, ok := errors.AsType[*InputRequired](err)
	if !ok || r == nil {
		return nil, err
	}
	return r.wire()
}

// wire is what the host gets; an error is an *Error.
func (r *InputRequired) wire() (*pluginv1.InputRequired, error) {
	faults := []error{r.err}
	out := &pluginv1.InputRequired{Requests: make(map[string]*pluginv1.InputRequest, len(r.requests)), State: r.state}
	total := 0
	for _, q := range r.requests {
		if err := q.fault(); err != nil {
			faults = append(faults, err)
			continue
		}
		if out.GetRequests()[q.key] != nil {
			faults = append(faults, fmt.Errorf("question %.64q: asked twice at once", q.key))
		}
		total += len(q.params)
		out.Requests[q.key] = &pluginv1.InputRequest{Method: q.method, Params: q.params}
	}
	switch {
	case len(r.requests) > maxQuestions:
		faults = append(faults, fmt.Errorf("%d questions at once, at most %d are passed on", len(r.requests), maxQuestions))
	case total > maxQuestionBytes:
		faults = append(faults, fmt.Errorf("the questions have %d bytes, the limit is %d", total, maxQuestionBytes))
	case len(r.requests) == 0 && len(r.state) == 0:
		faults = append(faults, errors.New("neither a question nor a state"))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, Failed("question", err)
	}
	if len(r.state) > MaxState {
		return nil, Failed("state_too_large", fmt.Errorf("the state has %d bytes, the limit is %d", len(r.state), MaxState))
	}
	return out, nil
}
