// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	words "github.com/toolwharf/toolwharf/host/internal/tool"
)

// maxRounds is how often one call is answered.
const maxRounds = 5

// questions answers whatever the tools ask: once with a no, once with a yes that
// says nothing.
func (s *suite) questions(ctx context.Context) error {
	tools, err := s.callable(ctx)
	if err != nil {
		return err
	}
	asked := false
	for _, t := range tools {
		for _, reply := range []string{`{"action":"decline"}`, `{"action":"accept","content":{}}`} {
			did, err := s.converse(ctx, t, reply)
			if err != nil {
				return toolFault(t, "the answer "+reply, err)
			}
			asked = asked || did
		}
	}
	if !asked {
		return unjudgedf("no tool that was called has asked anything")
	}
	return nil
}

// converse calls a tool and answers what it asks; asked: it did.
func (s *suite) converse(ctx context.Context, t *tool, reply string) (asked bool, err error) {
	req := request(t.GetName(), t.args)
	for range maxRounds {
		m, err := s.ready(ctx)
		if err != nil {
			return asked, err
		}
		a, err := s.call(ctx, m, req)
		if err != nil {
			return asked, err
		}
		q := a.question()
		if q == nil {
			return asked, t.fits(a.result())
		}
		asked = true
		req.Answers, req.State = map[string][]byte{}, q.State
		for _, key := range slices.Sorted(maps.Keys(q.Requests)) {
			if err := askable(key, q.Requests[key]); err != nil {
				return asked, fmt.Errorf("the question %q: %w", key, err)
			}
			req.Answers[key] = answerTo(q.Requests[key].Method, reply)
		}
	}
	return asked, nil // somebody who asks on and on is the host's to stop
}

func answerTo(method, reply string) []byte {
	switch method {
	case "sampling/createMessage":
		return []byte(`{"role":"assistant","content":{"type":"text","text":"conform"},"model":"conform","stopReason":"endTurn"}`)
	case "roots/list":
		return []byte(`{"roots":[]}`)
	}
	return []byte(reply)
}

// askable reports, as an error, what is wrong with a question.
func askable(key string, r words.InputRequest) error {
	if key == "" {
		return errors.New("its key is empty")
	}
	switch r.Method {
	case "roots/list":
		return nil
	case "sampling/createMessage":
		var p struct {
			Messages  []json.RawMessage `json:"messages"`
			MaxTokens json.Number       `json:"maxTokens"`
		}
		if err := json.Unmarshal(r.Params, &p); err != nil || len(p.Messages) == 0 || p.MaxTokens == "" {
			return errors.New("its params have no messages or no maxTokens")
		}
		return nil
	case "elicitation/create":
		return elicitable(r.Params)
	default:
		return fmt.Errorf("its method is %q; there are elicitation/create, sampling/createMessage and roots/list", r.Method)
	}
}

func elicitable(params json.RawMessage) error {
	var p struct {
		Mode    string `json:"mode"`
		Message string `json:"message"`
		URL     string `json:"url"`
		Schema  struct {
			Type       string `json:"type"`
			Properties map[string]struct {
				Type string `json:"type"`
			} `json:"properties"`
		} `json:"requestedSchema"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return fmt.Errorf("its params: %w", err)
	}
	switch {
	case p.Message == "":
		return errors.New("its params have no message")
	case p.Mode == "url" && p.URL == "":
		return errors.New("its mode is url, and there is no url")
	case p.Mode == "url":
		return nil
	case p.Mode != "" && p.Mode != "form":
		return fmt.Errorf("its mode is %q; there are form and url", p.Mode)
	case p.Schema.Type != "object":
		return errors.New("its requestedSchema is not of an object")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Schema.Properties)) {
		switch p.Schema.Properties[name].Type {
		case "string", "number", "integer", "boolean", "array":
		default:
			return fmt.Errorf("the field %q of its form is not string, number, integer, boolean or a choice", name)
		}
	}
	return nil
}
