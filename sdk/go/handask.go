// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// question is what `call` prints of a tool that asks. Its fields are those of the
// protocol's InputRequired.
type question struct {
	Requests map[string]questionRequest `json:"requests"`
	State    []byte                     `json:"state,omitempty"`
}

type questionRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// question prints what a tool asks, and on stderr how to go on.
func (h *hand) question(q *pluginv1.InputRequired, tool string) int {
	out := question{Requests: map[string]questionRequest{}, State: q.GetState()}
	for key, r := range q.GetRequests() {
		out.Requests[key] = questionRequest{r.GetMethod(), r.GetParams()}
	}
	e := json.NewEncoder(h.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(out); err != nil {
		return h.failed(err)
	}
	fmt.Fprintf(h.err, "%s: %s asks before it goes on; do it again with the same arguments", h.core.info.Name, tool)
	if len(out.Requests) > 0 {
		fmt.Fprint(h.err, ` and --answers '{KEY: {"action": "accept", "content": {...}}}'`)
	}
	if len(out.State) > 0 {
		fmt.Fprint(h.err, " and --state with the state above")
	}
	fmt.Fprintln(h.err)
	return 1
}

// roundFor reads the flags --answers and --state: what the round before has left.
func (h *hand) roundFor(flags handFlags) (answers map[string][]byte, state []byte, err error) {
	if flags.answers != nil {
		data, err := h.read(*flags.answers)
		if err != nil {
			return nil, nil, fmt.Errorf("--answers: %w", err)
		}
		var given map[string]json.RawMessage
		if json.Unmarshal(data, &given) != nil || given == nil {
			return nil, nil, errors.New("--answers: not an object with an answer for each key")
		}
		answers = make(map[string][]byte, len(given))
		for key, answer := range given {
			answers[key] = answer
		}
	}
	if flags.state != nil {
		if state, err = base64.StdEncoding.DecodeString(*flags.state); err != nil {
			return nil, nil, fmt.Errorf("--state: %w", err)
		}
	}
	return answers, state, nil
}
