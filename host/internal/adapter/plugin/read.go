// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// maxCompletions is how many values a completion may propose (MCP 2026-07-28,
// server/utilities/completion).
const maxCompletions = 100

// uri is what an attempt to read is about: a resource's own URI, or a member's.
func uri(a *tool.Attempt) string {
	s, _ := tool.ResourceURI(a.Spec.Name)
	return s
}

func (in *instance) readRequest(a *tool.Attempt) *pluginv1.ReadResourceRequest {
	return &pluginv1.ReadResourceRequest{Uri: uri(a), Context: in.callContext(a), Answers: answers(a), State: a.State}
}

// reading collects the contents of one resource.
type reading struct {
	content []tool.Content
	size    int
}

func (r *reading) take(m *pluginv1.ReadResourceResponse) (out *tool.Result, taken bool, err error) {
	switch m := m.GetMessage().(type) {
	case *pluginv1.ReadResourceResponse_Part:
		return nil, true, r.add(m.Part)
	case *pluginv1.ReadResourceResponse_Result:
		for _, c := range m.Result.GetContents() {
			if err := r.add(c); err != nil {
				return nil, true, err
			}
		}
		meta, err := object(m.Result.GetMeta())
		if err != nil {
			return nil, true, broken(fmt.Errorf("_meta of the result: %w", err))
		}
		return &tool.Result{Content: r.content, Meta: meta}, true, nil
	default:
		return nil, false, nil
	}
}

func (r *reading) add(c *pluginv1.ResourceContents) error {
	if r.size += proto.Size(c) + perPart; r.size > maxParts {
		return tooLarge()
	}
	block, err := contents(c)
	if err != nil {
		return broken(err)
	}
	r.content = append(r.content, block)
	return nil
}

// promptRequest has the arguments as texts, as the spec's schema says they are.
func (in *instance) promptRequest(a *tool.Attempt) (*pluginv1.GetPromptRequest, error) {
	r := &pluginv1.GetPromptRequest{Name: a.Spec.Declared, Context: in.callContext(a), Answers: answers(a), State: a.State}
	if err := json.Unmarshal(a.Args.Bytes(), &r.Arguments); err != nil {
		return nil, tool.Failed("internal", fmt.Errorf("arguments of a prompt: %w", err))
	}
	return r, nil
}

// prompting collects nothing: a prompt comes in one message.
type prompting struct{}

func (prompting) take(m *pluginv1.GetPromptResponse) (out *tool.Result, taken bool, err error) {
	r, ok := m.GetMessage().(*pluginv1.GetPromptResponse_Result)
	if !ok {
		return nil, false, nil
	}
	out = &tool.Result{Description: r.Result.GetDescription()}
	if out.Meta, err = object(r.Result.GetMeta()); err != nil {
		return nil, true, broken(fmt.Errorf("_meta of the result: %w", err))
	}
	for _, said := range r.Result.GetMessages() {
		if !slices.Contains([]string{"user", "assistant"}, said.GetRole()) {
			return nil, true, broken(fmt.Errorf("a prompt's message of role %.32q", said.GetRole()))
		}
		if said.GetContent() == nil {
			return nil, true, broken(errors.New("a prompt's message without content"))
		}
		block, err := content(said.GetContent())
		if err != nil {
			return nil, true, broken(err)
		}
		out.Roles, out.Content = append(out.Roles, said.GetRole()), append(out.Content, block)
	}
	return out, true, nil
}

func (in *instance) completeRequest(a *tool.Attempt) (*pluginv1.CompleteRequest, error) {
	var asked tool.Completing
	if err := json.Unmarshal(a.Args.Bytes(), &asked); err != nil {
		return nil, tool.Failed("internal", fmt.Errorf("arguments of a completion: %w", err))
	}
	r := &pluginv1.CompleteRequest{Argument: asked.Argument, Value: asked.Value, Resolved: asked.Resolved, Context: in.callContext(a)}
	if a.Spec.Op == tool.OpPrompt {
		r.Reference = &pluginv1.CompleteRequest_Prompt{Prompt: a.Spec.Declared}
	} else {
		r.Reference = &pluginv1.CompleteRequest_UriTemplate{UriTemplate: a.Spec.Declared}
	}
	return r, nil
}

func completion(r *pluginv1.CompleteResponse) *tool.Result {
	c := &tool.Completion{Values: r.GetValues(), Total: r.Total, More: r.GetHasMore()}
	if len(c.Values) > maxCompletions {
		c.Values, c.More = c.Values[:maxCompletions], true
	}
	return &tool.Result{Completion: c}
}

func tooLarge() *tool.Error {
	return &tool.Error{
		Kind: tool.ResultTooLarge, Code: "result_too_large", Sent: true,
		Text: fmt.Sprintf("the result is larger than %d bytes; ask for less", maxParts),
	}
}
