// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
	"github.com/toolwharf/toolwharf/sdk/go"
)

// maxRounds is how often one call may ask.
const maxRounds = 10

// CallOption says something about a call.
type CallOption func(*call)

// call is one call in the making, over its rounds.
type call struct {
	ctx     context.Context //nolint:containedctx // it is an option
	about   *pluginv1.CallContext
	answers map[string]json.RawMessage // that are given when they are asked
}

// As says who calls and how: its zero fields are as they come, which is a client that
// wants progress and every message and can answer every question.
func As(c toolwharf.Call) CallOption {
	return func(to *call) {
		set(&to.about.CallId, c.ID)
		set(&to.about.RunId, c.RunID)
		set(&to.about.ProtocolVersion, c.ProtocolVersion)
		set(&to.about.Principal, c.Principal)
		if c.Attempt != 0 {
			to.about.Attempt = int32(c.Attempt)
		}
		if c.ClientCapabilities != nil {
			to.about.ClientCapabilities = c.ClientCapabilities
		}
	}
}

func set(to *string, value string) {
	if value != "" {
		*to = value
	}
}

// Quiet is a client that wants neither progress nor messages.
func Quiet() CallOption {
	return func(c *call) {
		c.about.WantsProgress, c.about.LogLevel = false, pluginv1.LogLevel_LOG_LEVEL_UNSPECIFIED
	}
}

// Within is the context of the call: its end is the caller's.
func Within(ctx context.Context) CallOption { return func(c *call) { c.ctx = ctx } }

// Answer fills in the form that is asked by the key.
func Answer(key string, content any) CallOption {
	return Respond(key, map[string]any{"action": "accept", "content": content})
}

// Decline declines the form that is asked by the key.
func Decline(key string) CallOption { return Respond(key, map[string]any{"action": "decline"}) }

// Respond answers any question that is asked by the key.
func Respond(key string, response any) CallOption {
	data, err := json.Marshal(response)
	if err != nil {
		data = json.RawMessage("null")
	}
	return func(c *call) { c.answers[key] = data }
}

func (h *Host) call(opts []CallOption) *call {
	c := &call{
		ctx: h.tb.Context(),
		about: &pluginv1.CallContext{
			CallId: "call_test", Attempt: 1, RunId: "run_test", ProtocolVersion: "2026-07-28", WantsProgress: true,
			LogLevel:           pluginv1.LogLevel_LOG_LEVEL_DEBUG,
			ClientCapabilities: []byte(`{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`),
		},
		answers: map[string]json.RawMessage{},
	}
	for _, o := range opts {
		o(c)
	}
	return c
}

// Ending is what every call may come to, and what it has said on the way, over all
// rounds.
type Ending struct {
	// Question is what was asked and not answered; nil: nothing.
	Question *pluginv1.InputRequired
	// Err is the error; nil: there is none.
	Err *toolwharf.Error
	// Protocol is the JSON-RPC error; nil: there is none.
	Protocol *toolwharf.ProtocolError
	// Progress and Logs are what the client would have seen.
	Progress []*pluginv1.Progress
	Logs     []*pluginv1.LogMessage
	// Rounds is how often the handler was called.
	Rounds int
}

// String says how the call ended if it was not well.
func (e *Ending) String() string {
	switch {
	case e.Err != nil:
		return "error: " + e.Err.Error()
	case e.Protocol != nil:
		return "protocol error: " + e.Protocol.Error()
	case e.Question != nil:
		return fmt.Sprintf("question: %v", e.Question)
	}
	return "ended well"
}

// Outcome is what the call of a tool came to.
type Outcome struct {
	Ending
	// Result has its parts put together; nil: there is none.
	Result *pluginv1.ToolResult
	// Parts is in how many the result came, besides its end.
	Parts int

	host *Host
}

// Text is the text of the result: that of its blocks, a line each, or without blocks
// the structured content, unquoted where it is text.
func (o *Outcome) Text() string {
	var texts []string
	for _, c := range o.Result.GetContent() {
		if c.GetText() != nil {
			texts = append(texts, c.GetText().GetText())
		}
	}
	if len(texts) == 0 && o.Result.GetStructured() != nil {
		var text string
		if json.Unmarshal(o.Result.GetStructured(), &text) == nil {
			return text
		}
		return string(o.Result.GetStructured())
	}
	return strings.Join(texts, "\n")
}

// Into reads the structured content into v; the test ends when there is none.
func (o *Outcome) Into(v any) {
	o.host.tb.Helper()
	if o.Result == nil {
		o.host.tb.Fatalf("there is no result: %v", &o.Ending)
	}
	if err := json.Unmarshal(o.Result.GetStructured(), v); err != nil {
		o.host.tb.Fatalf("%v: %s", err, o.Result.GetStructured())
	}
}

// String says how the call ended.
func (o *Outcome) String() string {
	if o.Result != nil {
		return "result: " + o.Text()
	}
	return o.Ending.String()
}

// Call calls a tool with arguments that marshal to a JSON object (nil: the empty one).
// Questions that options answer are answered, in as many rounds as it takes. Arguments
// that do not fit the tool's schema do not reach the plugin: the outcome is the host's
// own error, invalid_args.
func (h *Host) Call(name string, args any, opts ...CallOption) *Outcome {
	h.tb.Helper()
	h.need(toolwharf.FeatureTools)
	out := &Outcome{host: h}
	t := toolIn(h.Catalog(), name)
	if t == nil {
		h.tb.Fatalf("the catalogue has no tool %q", name)
	}
	if args == nil {
		args = struct{}{}
	}
	data := h.json(args)
	if err := fit(t.GetInputSchema(), data); err != nil {
		out.Err = toolwharf.Invalid("", err.Error())
		return out
	}
	c := h.call(opts)
	rounds(h, c, &out.Ending, func(answers map[string][]byte, state []byte) {
		stream, err := h.tools.CallTool(c.ctx, &pluginv1.CallToolRequest{
			Tool: name, Arguments: data, Context: c.about, Answers: answers, State: state,
		})
		gather(h, "CallTool "+name, c, &out.Ending, stream, err, func(m *pluginv1.CallToolResponse) said { return out.hear(m) })
	})
	if out.Result != nil {
		h.violated("CallTool "+name, ofResult(out.Result, t, h.limits))
	}
	return out
}

// hear takes one message of a tool.
func (o *Outcome) hear(m *pluginv1.CallToolResponse) said {
	switch m := m.GetMessage().(type) {
	case *pluginv1.CallToolResponse_Progress:
		return said{progress: m.Progress}
	case *pluginv1.CallToolResponse_Log:
		return said{log: m.Log}
	case *pluginv1.CallToolResponse_Part:
		if o.Result == nil {
			o.Result = new(pluginv1.ToolResult)
		}
		o.Parts++
		o.Result.Structured = append(o.Result.Structured, m.Part.GetStructured()...)
		if c := m.Part.GetContent(); c != nil {
			o.Result.Content = append(o.Result.Content, c)
		}
		return said{part: true}
	case *pluginv1.CallToolResponse_Result:
		if o.Parts == 0 {
			o.Result = m.Result
			return said{end: true}
		}
		o.Result.Content = append(o.Result.Content, m.Result.GetContent()...)
		o.Result.Structured = append(o.Result.Structured, m.Result.GetStructured()...)
		o.Result.Meta, o.Result.Usage = m.Result.GetMeta(), m.Result.GetUsage()
		return said{end: true}
	case *pluginv1.CallToolResponse_InputRequired:
		return said{question: m.InputRequired}
	case *pluginv1.CallToolResponse_Error:
		o.Result = nil
		return said{err: m.Error}
	case *pluginv1.CallToolResponse_ProtocolError:
		return said{protocol: m.ProtocolError}
	}
	return said{}
}

// said is one message, whatever the rpc.
type said struct {
	progress  *pluginv1.Progress
	log       *pluginv1.LogMessage
	part, end bool
	question  *pluginv1.InputRequired
	err       *pluginv1.CallError
	protocol  *pluginv1.ProtocolError
}

func (s said) last() bool { return s.end || s.question != nil || s.err != nil || s.protocol != nil }

// gather reads one stream to its end and holds it to the protocol.
func gather[M any](h *Host, where string, c *call, e *Ending, stream grpc.ServerStreamingClient[M], err error, hear func(*M) said) {
	h.tb.Helper()
	e.Rounds++
	e.Question = nil
	over := false
	var progress []*pluginv1.Progress
	for err == nil {
		var m *M
		if m, err = stream.Recv(); err != nil {
			break
		}
		s := hear(m)
		var faults []string
		if over {
			faults = append(faults, "a message after the end")
		}
		switch {
		case s.progress != nil:
			faults = append(faults, ofProgress(c.about, progress, s.progress)...)
			progress = append(progress, s.progress)
			e.Progress = append(e.Progress, s.progress)
		case s.log != nil:
			faults = append(faults, ofLog(c.about, s.log)...)
			e.Logs = append(e.Logs, s.log)
		case s.question != nil:
			faults = append(faults, ofQuestion(s.question)...)
			e.Question = s.question
		case s.err != nil:
			faults = append(faults, ofError(s.err)...)
			e.Err = errorOf(s.err)
		case s.protocol != nil:
			e.Protocol = &toolwharf.ProtocolError{Code: s.protocol.GetCode(), Message: s.protocol.GetMessage(), Data: s.protocol.GetData()}
		case !s.part && !s.end:
			faults = append(faults, "a message of no known kind")
		}
		over = over || s.last()
		h.violated(where, faults)
	}
	switch {
	case !errors.Is(err, io.EOF) && c.ctx.Err() != nil:
		e.Err = &toolwharf.Error{Kind: toolwharf.KindCancelled, Code: "cancelled"}
	case !errors.Is(err, io.EOF):
		h.tb.Fatalf("%s: %v", where, err)
	case !over:
		h.violated(where, []string{"the stream ended without a result"})
	}
}

// rounds goes on as long as what is asked can be answered.
func rounds(h *Host, c *call, e *Ending, round func(answers map[string][]byte, state []byte)) {
	h.tb.Helper()
	var answers map[string][]byte
	var state []byte
	for {
		round(answers, state)
		if e.Question == nil || e.Rounds == maxRounds {
			return
		}
		answers, state = map[string][]byte{}, e.Question.GetState()
		for key := range e.Question.GetRequests() {
			answer, ok := c.answers[key]
			if !ok {
				return
			}
			answers[key] = answer
			delete(c.answers, key)
		}
	}
}

func errorOf(e *pluginv1.CallError) *toolwharf.Error {
	out := &toolwharf.Error{
		Code: e.GetCode(), Text: e.GetText(), Detail: e.GetDetail(), RetryAfter: e.GetRetryAfter().AsDuration(),
		Ran: map[pluginv1.Ran]toolwharf.Ran{
			pluginv1.Ran_RAN_NO: toolwharf.RanNo, pluginv1.Ran_RAN_YES: toolwharf.RanYes, pluginv1.Ran_RAN_UNKNOWN: toolwharf.RanUnknown,
		}[e.GetRan()],
	}
	name := strings.ToLower(strings.TrimPrefix(e.GetKind().String(), "ERROR_KIND_"))
	if out.Kind = toolwharf.Kind(name); e.GetKind() == pluginv1.ErrorKind_ERROR_KIND_UNSPECIFIED {
		out.Kind = toolwharf.KindToolFailed
	}
	return out
}
