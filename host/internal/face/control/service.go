// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/approval"
	"github.com/toolwharf/toolwharf/host/internal/executor"
	"github.com/toolwharf/toolwharf/host/internal/registry"
	"github.com/toolwharf/toolwharf/host/internal/tool"
)

// Executor runs and explains calls.
type Executor interface {
	Do(context.Context, *tool.Call) (tool.Outcome, error)
	// Reject records a call whose arguments are not JSON and returns what the
	// caller is to be told.
	Reject(context.Context, *tool.Call, *tool.Error) error
	Explain(context.Context, *tool.Call) (*executor.Explanation, error)
}

// Catalogue is what can be called.
type Catalogue interface{ Snapshot() *registry.Snapshot }

// Service is the API inside the host's process.
type Service struct {
	// About says which host this is.
	About func() Host
	// Moored says which adapters there are.
	Moored func() []Adapter
	// Renew restarts an adapter.
	Renew func(ctx context.Context, name string) (found bool, err error)
	// Said are the lines of an adapter's log.
	Said      func(ctx context.Context, name string, n int, follow bool) iter.Seq[LogLine]
	Catalogue Catalogue
	Executor  Executor
	// Operator is who calls: the user at the other end of the socket.
	Operator tool.Principal
	// Desk is where the operator decides approvals.
	Desk *approval.Desk
}

var _ API = (*Service)(nil)

// Host says which host this is.
func (s *Service) Host(context.Context) (*Host, error) {
	h := s.About()
	return &h, nil
}

// Adapters says which adapters there are, sorted by name.
func (s *Service) Adapters(context.Context) ([]Adapter, error) { return s.Moored(), nil }

// Restart restarts an adapter and says where it is then.
func (s *Service) Restart(ctx context.Context, name string) (*Adapter, error) {
	found, err := s.Renew(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("adapter %s was not restarted: %w", name, err)
	}
	if found {
		for _, a := range s.Moored() {
			if a.Name == name {
				return &a, nil
			}
		}
	}
	return nil, &NotFoundError{"adapter", name}
}

// Logs are the lines of an adapter's log.
func (s *Service) Logs(ctx context.Context, name string, n int, follow bool) iter.Seq2[LogLine, error] {
	return func(yield func(LogLine, error) bool) {
		if !slices.ContainsFunc(s.Moored(), func(a Adapter) bool { return a.Name == name }) {
			yield(LogLine{}, &NotFoundError{"adapter", name})
			return
		}
		for l := range s.Said(ctx, name, n, follow) {
			if !yield(l, nil) {
				return
			}
		}
	}
}

// Tools says which tools there are, sorted by name.
func (s *Service) Tools(context.Context) ([]Tool, error) {
	snapshot := s.Catalogue.Snapshot()
	tools := make([]Tool, 0, len(snapshot.Offers))
	for _, o := range snapshot.Offers {
		tools = append(tools, Tool{
			Name: o.Spec.Name, Alias: o.Alias, Adapter: o.Spec.Adapter, Declared: o.Spec.Declared,
			Title: o.Spec.Title, Description: o.Spec.Description,
			Effects: o.Spec.Effects.Effective(), Idempotent: o.Spec.Idempotent, Approval: o.Spec.NeedsApproval(),
			Tags: o.Spec.Tags, Input: o.Spec.Input, Output: o.Spec.Output, Digest: o.Spec.Digest.String(),
		})
	}
	return tools, nil
}

// Call runs a tool as the operator.
func (s *Service) Call(ctx context.Context, name string, raw json.RawMessage, resume Keys) (*Answer, error) {
	call, refused := s.call(name, raw, resume)
	var out tool.Outcome
	var err error
	if refused != nil {
		err = s.Executor.Reject(ctx, call, refused)
	} else {
		out, err = s.Executor.Do(ctx, call)
	}
	if err != nil {
		if _, ok := errors.AsType[*executor.UnknownError](err); ok {
			return nil, &NotFoundError{"tool", name}
		}
		return &Answer{Error: failure(tool.AsError(err))}, nil
	}
	switch o := out.(type) {
	case *tool.Result:
		return answer(o), nil
	case *tool.Pending:
		return &Answer{Pending: &Pending{Approval: o.Approval, Run: o.Run, Call: o.Call}}, nil
	default:
		return &Answer{Error: failure(tool.Failed("input_required_unsupported",
			errors.New("the tool asks for input, which the command line cannot give yet")))}, nil
	}
}

// Explain asks the gates about a call.
func (s *Service) Explain(ctx context.Context, name string, raw json.RawMessage, as *Caller) (*executor.Explanation, error) {
	call, refused := s.call(name, raw, Keys{})
	call.Op, call.Name = named(name)
	if as != nil {
		var err error
		if call.Principal, err = as.principal(); err != nil {
			return nil, fmt.Errorf("caller: %w", err)
		}
	}
	if refused != nil {
		o, found := s.Catalogue.Snapshot().Find(name)
		if !found {
			return nil, &NotFoundError{"tool", name}
		}
		return &executor.Explanation{
			Tool: o.Spec.Name, Adapter: o.Spec.Adapter, Effects: o.Spec.Effects.Effective(), Verdict: tool.Refuse,
			Gate: "door", Kind: refused.Kind, Code: refused.Code, Text: refused.Text,
			Steps: []executor.Step{{Gate: "door", Verdict: tool.Refuse, Reason: refused.Text}},
		}, nil
	}
	e, err := s.Executor.Explain(ctx, call)
	if _, ok := errors.AsType[*executor.UnknownError](err); ok {
		return nil, &NotFoundError{"tool", name}
	}
	return e, err
}

// named is what a public name is of, and what it is called by.
func named(public string) (tool.Op, string) {
	if uri, ok := tool.ResourceURI(public); ok {
		return tool.OpResource, uri
	}
	if tool.OfAnotherKind(public) {
		return tool.OpPrompt, strings.TrimPrefix(public, tool.PromptName(""))
	}
	return tool.OpTool, public
}

// call is the call as the operator's; refused, if not nil, is why its arguments
// are none.
func (s *Service) call(name string, raw json.RawMessage, resume Keys) (_ *tool.Call, refused *tool.Error) {
	args, err := tool.ParseArgs(raw)
	return &tool.Call{
		Op: tool.OpTool, Name: name, Args: args, Principal: s.Operator,
		Run: resume.Run, Key: resume.Call, Resumable: true,
		Client: tool.Client{Name: "toolwharf"},
	}, tool.AsError(err)
}

func failure(e *tool.Error) *Failure {
	f := &Failure{
		Kind: e.Kind, Code: e.Code, Text: e.Text, Detail: e.Detail, Ran: e.Ran,
		RetryAfter: e.RetryAfter.Milliseconds(),
	}
	if e.Err != nil {
		if f.Detail != "" {
			f.Detail += ": "
		}
		f.Detail += e.Err.Error()
	}
	return f
}

func answer(r *tool.Result) *Answer {
	a := &Answer{Structured: r.Structured}
	for _, c := range r.Content {
		switch b := c.(type) {
		case *tool.Text:
			a.Content = append(a.Content, Block{Type: "text", Text: b.Text})
		case *tool.Blob:
			a.Content = append(a.Content, Block{Type: b.Kind, MIMEType: b.MIMEType, Bytes: len(b.Data)})
		case *tool.Link:
			a.Content = append(a.Content, Block{Type: "resource_link", URI: b.URI, MIMEType: b.MIMEType})
		case *tool.Embedded:
			a.Content = append(a.Content, Block{
				Type: "resource", URI: b.URI, MIMEType: b.MIMEType, Text: b.Text, Bytes: len(b.Blob),
			})
		}
	}
	return a
}
