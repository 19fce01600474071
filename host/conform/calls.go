// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolwharf/toolwharf/host/internal/adapter/plugin"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

var callChecks = []check{
	{"calls/unknown-tool", "a tool that there is not is an error message, not a status", (*suite).unknownTool},
	{"calls/valid", "good arguments come to exactly one end, and results match their schemas", (*suite).validCalls},
	{"calls/invalid", "bad arguments are answered too, and nothing crashes", (*suite).invalidCalls},
	{"calls/huge", "arguments of 5 MiB are answered, 17 MiB are refused, and the connection lives", (*suite).hugeCalls},
	{"calls/large-results", "a result of 5 MiB arrives whole", (*suite).largeResults},
	{"calls/result-limit", "the plugin stops at max_result_bytes by itself", (*suite).resultLimit},
	{"calls/digits", "numbers keep their digits: 9007199254740993 and 1.10", (*suite).digits},
	{"calls/unicode", "text comes back as it was", (*suite).unicode},
	{"calls/context", "a second attempt, and a caller that can do nothing, are answered", (*suite).contexts},
	{"calls/unknown-fields", "fields of a later version in a call are ignored", (*suite).unknownInCall},
	{"calls/parallel", "64 calls at once each get their own answer", (*suite).parallelCalls},
	{"calls/deadline", "a call ends soon after its deadline", (*suite).deadline},
	{"calls/cancel", "cancelled calls leave a plugin that answers and shuts down", (*suite).cancelled},
	{"calls/questions", "what is asked of the client is well formed, and every round comes to an end", (*suite).questions},
}

const (
	parallel = 64
	mebi     = 1 << 20
)

// noTool is a name that no tool has.
const noTool = "conform.no_such_tool"

// offering is a plugin that is ready and has tools.
func (s *suite) offering(ctx context.Context) (*mooring, error) {
	m, err := s.ready(ctx)
	if err == nil && len(s.catalog.GetTools()) == 0 {
		err = unjudgedf("the plugin has no tools under this configuration")
	}
	return m, err
}

// callable are the tools that may be called, with arguments to call them with.
func (s *suite) callable(ctx context.Context) ([]*tool, error) {
	if _, err := s.offering(ctx); err != nil {
		return nil, err
	}
	var out []*tool
	for _, t := range s.tools {
		if t.free && t.args != nil {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return nil, unjudgedf("%s", s.uncalled())
	}
	return out, nil
}

// uncalled says which tools are not called, and why; empty: none.
func (s *suite) uncalled() string {
	var effects, unmade []string
	for _, t := range s.tools {
		switch {
		case !t.free:
			effects = append(effects, t.GetName())
		case t.args == nil:
			unmade = append(unmade, t.GetName())
		}
	}
	var parts []string
	if len(effects) > 0 {
		parts = append(parts, "not read_only, so not called without --call-all: "+strings.Join(effects, ", "))
	}
	if len(unmade) > 0 {
		parts = append(parts, "no valid arguments could be made, give some by --examples: "+strings.Join(unmade, ", "))
	}
	if n := len(s.catalog.GetTools()) - len(s.tools); n > 0 {
		parts = append(parts, fmt.Sprintf("%d more tools are not called", n))
	}
	return strings.Join(parts, "; ")
}

// toolFault says which call it was.
func toolFault(t *tool, what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s with %s: %w", t.GetName(), what, err)
}

func (s *suite) unknownTool(ctx context.Context) error {
	m, err := s.offering(ctx)
	if err != nil {
		return err
	}
	a, err := s.call(ctx, m, request(noTool, json.RawMessage(`{}`)))
	if err == nil && a.err == nil {
		err = errors.New("there was a result")
	}
	return err
}

func (s *suite) validCalls(ctx context.Context) error {
	tools, err := s.callable(ctx)
	if err != nil {
		return err
	}
	var faults []error
	for _, t := range tools {
		faults = append(faults, s.validCall(ctx, t))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	if left := s.uncalled(); left != "" {
		return &noted{left}
	}
	return nil
}

func (s *suite) validCall(ctx context.Context, t *tool) error {
	for _, example := range t.examples {
		if err := t.input.ValidateValue(example); err != nil {
			return toolFault(t, "the example "+shown(string(example)), fmt.Errorf("it is not valid by the tool's own schema: %w", err))
		}
	}
	all := t.examples
	if len(all) == 0 {
		all = []json.RawMessage{t.args}
	}
	for _, args := range all {
		m, err := s.ready(ctx)
		if err != nil {
			return err
		}
		a, err := s.call(ctx, m, request(t.GetName(), args))
		if err == nil {
			err = t.fits(a.result())
		}
		if err == nil && a.err != nil && len(t.examples) > 0 {
			err = fmt.Errorf("an example comes to a result, and this is %w", a.err)
		}
		if err != nil {
			return toolFault(t, shown(string(args)), err)
		}
	}
	return nil
}

// badArguments are arguments that are not valid. Those of a tool that must not
// run cannot even be read, so that no plugin comes as far as the effect; and a
// tool that needs no arguments might not look at them at all.
func badArguments(t *tool) []json.RawMessage {
	out := []json.RawMessage{json.RawMessage(`{"`), json.RawMessage(`[1]`)} // nobody can read these
	if !t.free {
		if t.input.ValidateValue([]byte(`{}`)) == nil {
			return nil
		}
		return out
	}
	out = append(out,
		json.RawMessage(`null`), json.RawMessage("{\"\xff\":\"\xff\"}"), json.RawMessage(`{}`), json.RawMessage(`{"conform_no_such_argument":1}`),
		json.RawMessage(strings.Repeat(`{"a":`, 5000)+"1"+strings.Repeat("}", 5000)),
	)
	names, _ := t.properties()
	for _, name := range names {
		for _, wrong := range []string{`{"conform":[]}`, `[[1]]`, `null`, `-1e400`, `""`} {
			fields := map[string]json.RawMessage{}
			_ = json.Unmarshal(t.args, &fields)
			if fields == nil {
				continue
			}
			fields[name] = json.RawMessage(wrong)
			if args, err := json.Marshal(fields); err == nil {
				out = append(out, args)
			}
		}
	}
	return slices.DeleteFunc(out, func(args json.RawMessage) bool { return t.input.ValidateValue(args) == nil })
}

// maxBadArguments is how many are tried of one tool.
const maxBadArguments = 40

func (s *suite) invalidCalls(ctx context.Context) error {
	if _, err := s.offering(ctx); err != nil {
		return err
	}
	var faults []error
	var spared []string
	for _, t := range s.tools {
		bad := badArguments(t)
		if len(bad) == 0 {
			spared = append(spared, t.GetName())
		}
		for i, args := range bad {
			if i == maxBadArguments {
				break
			}
			m, err := s.ready(ctx)
			if err != nil {
				return err
			}
			if _, err := s.call(ctx, m, request(t.GetName(), args)); err != nil {
				faults = append(faults, toolFault(t, brief(args), err))
				break
			}
		}
	}
	if err := errors.Join(faults...); err != nil || len(spared) == 0 {
		return err
	}
	return &noted{"may run with any arguments, so not called without --call-all: " + strings.Join(spared, ", ")}
}

func brief(args json.RawMessage) string {
	if len(args) > 200 {
		return shown(string(args[:200])) + "..."
	}
	return shown(string(args))
}

// maxHuge is how many tools get arguments of 5 MiB.
const maxHuge = 10

func quoted(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n) + `"`) }

func (s *suite) hugeCalls(ctx context.Context) error {
	m, err := s.offering(ctx)
	if err != nil {
		return err
	}
	huge := json.RawMessage(`{"x":` + string(quoted(5*mebi)) + `}`)
	if _, err := s.call(ctx, m, request(noTool, huge)); err != nil {
		return fmt.Errorf("an unknown tool with 5 MiB: %w", err)
	}
	tried := 0
	for _, t := range s.tools {
		if !t.free || t.args == nil || tried == maxHuge {
			continue
		}
		tried++
		if m, err = s.ready(ctx); err != nil {
			return err
		}
		if _, err := s.call(ctx, m, request(t.GetName(), t.enlarged(5*mebi))); err != nil {
			return toolFault(t, "5 MiB", err)
		}
	}
	return s.tooHuge(ctx, m)
}

// enlarged are the tool's arguments with that many bytes in one of them: in one
// that may be so large, if there is one.
func (t *tool) enlarged(n int) json.RawMessage {
	names, _ := t.properties()
	for _, name := range names {
		if args, ok := t.with(name, quoted(n)); ok {
			return args
		}
	}
	args, _ := t.with("conform_no_such_argument", quoted(n))
	return args
}

// tooHuge sends more than a message may have.
func (s *suite) tooHuge(ctx context.Context, m *mooring) error {
	ctx, cancel := context.WithTimeout(ctx, s.bounds.call)
	defer cancel()
	stream, err := m.tool.CallTool(ctx, request(noTool, quoted(plugin.MaxMessage+mebi)), grpc.MaxCallSendMsgSize(2*plugin.MaxMessage))
	if err == nil {
		_, err = stream.Recv()
	}
	if err != nil && status.Code(err) != codes.ResourceExhausted {
		return m.fault(fmt.Errorf("17 MiB: the status is %w; RESOURCE_EXHAUSTED is what a host understands", err))
	}
	if err := m.health(ctx); err != nil {
		return m.fault(fmt.Errorf("after 17 MiB: %w", err))
	}
	return nil
}

func (s *suite) contexts(ctx context.Context) error {
	tools, err := s.callable(ctx)
	if err != nil {
		return err
	}
	for _, t := range tools {
		first := request(t.GetName(), t.args)
		second := request(t.GetName(), t.args)
		second.Context.CallId, second.Context.Attempt = first.GetContext().GetCallId(), 2
		second.Context.Principal = "conform"
		plain := request(t.GetName(), t.args)
		plain.Context = &pluginv1.CallContext{CallId: first.GetContext().GetCallId() + "-plain", Attempt: 1}
		for _, c := range []struct {
			what string
			req  *pluginv1.CallToolRequest
		}{{"attempt 1", first}, {"attempt 2 of the same call", second}, {"a client that can do nothing", plain}} {
			m, err := s.ready(ctx)
			if err != nil {
				return err
			}
			if _, err := s.call(ctx, m, c.req); err != nil {
				return toolFault(t, c.what, err)
			}
		}
	}
	return nil
}

func (s *suite) unknownInCall(ctx context.Context) error {
	m, err := s.offering(ctx)
	if err != nil {
		return err
	}
	name, args := noTool, json.RawMessage(`{}`)
	if tools, err := s.callable(ctx); err == nil {
		name, args = tools[0].GetName(), tools[0].args
	}
	req := later(request(name, args))
	req.Context = later(req.GetContext())
	_, err = s.call(ctx, m, req)
	return err
}

func (s *suite) parallelCalls(ctx context.Context) error {
	tools, err := s.callable(ctx)
	if err != nil {
		return err
	}
	m, err := s.ready(ctx)
	if err != nil {
		return err
	}
	echo := s.echoOf(ctx, textEcho)
	t := tools[0]
	if echo != nil {
		t = echo.tool
	}
	faults := make([]error, parallel)
	var all sync.WaitGroup
	for i := range parallel {
		args, text := t.args, ""
		if echo != nil {
			text = fmt.Sprintf("conform-%d-of-%d", i, parallel)
			if own, ok := t.with(echo.property, json.RawMessage(`"`+text+`"`)); ok {
				args = own
			} else {
				text = ""
			}
		}
		all.Go(func() {
			a, err := s.call(ctx, m, request(t.GetName(), args))
			if err == nil && text != "" && !says(a.result(), text) {
				err = fmt.Errorf("%q was sent, and what came back is not it", text)
			}
			faults[i] = err
		})
	}
	all.Wait()
	for _, err := range faults {
		if err != nil {
			return toolFault(t, "64 calls at once", err) // the first stands for them all
		}
	}
	return nil
}
