// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolwharf/toolwharf/host/internal/adapter/plugin"
	words "github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// answer is how a call ended: one of the two is there.
type answer struct {
	outcome words.Outcome
	err     *words.Error
}

func (a *answer) result() *words.Result {
	r, _ := a.outcome.(*words.Result)
	return r
}

func (a *answer) question() *words.Question {
	q, _ := a.outcome.(*words.Question)
	return q
}

// request is a call as a host makes it.
func request(name string, args json.RawMessage) *pluginv1.CallToolRequest {
	return &pluginv1.CallToolRequest{
		Tool: name, Arguments: args,
		Context: &pluginv1.CallContext{
			CallId: words.NewID("call_"), Attempt: 1, RunId: words.NewID("run_"), ProtocolVersion: "2026-07-28",
			ClientCapabilities: []byte(`{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`),
			WantsProgress:      true, LogLevel: pluginv1.LogLevel_LOG_LEVEL_DEBUG,
		},
	}
}

// witness watches what comes in on a stream while the host's code reads it.
type witness struct {
	grpc.ServerStreamingClient[pluginv1.CallToolResponse]

	progress *float64
	faults   []string
}

// Recv receives and judges what the host lets pass.
func (w *witness) Recv() (*pluginv1.CallToolResponse, error) {
	m, err := w.ServerStreamingClient.Recv()
	switch e := m.GetMessage().(type) {
	case *pluginv1.CallToolResponse_Progress:
		p := e.Progress.GetProgress()
		if w.progress != nil && !(p > *w.progress) {
			w.faults = append(w.faults, fmt.Sprintf("progress went from %v to %v; it grows with every message", *w.progress, p))
		}
		w.progress = &p
	case *pluginv1.CallToolResponse_Log:
		if !json.Valid(e.Log.GetData()) {
			w.faults = append(w.faults, "the data of a log message are not JSON")
		}
	case *pluginv1.CallToolResponse_Error:
		w.error(e.Error)
	}
	return m, err
}

var codeForm = regexp.MustCompile(`^([a-z][a-z0-9_]*)?$`)

func (w *witness) error(e *pluginv1.CallError) {
	if !codeForm.MatchString(e.GetCode()) {
		w.faults = append(w.faults, fmt.Sprintf("the code %q of an error is not [a-z][a-z0-9_]*", e.GetCode()))
	}
	if strings.Contains(e.GetText(), "goroutine ") || strings.Contains(e.GetText(), "Traceback (most recent call last)") {
		w.faults = append(w.faults, "the text of an error, which the model sees, has a stack trace")
	}
}

// call makes one call. An error says what is wrong with the answer: a gRPC
// status, more than one end, what the protocol does not have, none at all.
func (s *suite) call(ctx context.Context, m *mooring, req *pluginv1.CallToolRequest) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, s.bounds.call)
	defer cancel()
	stream, err := m.tool.CallTool(ctx, req)
	if err != nil {
		return nil, m.fault(s.statusFault(ctx, err))
	}
	w := &witness{ServerStreamingClient: stream}
	outcome, err := plugin.Receive(w)
	said, ok := errors.AsType[*words.Error](err)
	switch {
	case err != nil && !ok:
		return nil, m.fault(s.statusFault(ctx, err))
	case ok && said.Code == "protocol_violation":
		return nil, m.fault(said.Err)
	}
	switch _, err := stream.Recv(); {
	case err == nil:
		return nil, errors.New("something comes after the end of the call; result, input_required, error and protocol_error each are the end")
	case !errors.Is(err, io.EOF):
		return nil, m.fault(fmt.Errorf("after the end of the call the stream fails: %w", s.statusFault(ctx, err)))
	}
	return &answer{outcome, said}, joined(w.faults)
}

func (s *suite) statusFault(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s", s.bounds.call)
	}
	if status.Code(err) == codes.Unimplemented {
		return errors.New("ToolService is not served (UNIMPLEMENTED), though there are tools")
	}
	return fmt.Errorf("the answer is a gRPC status, not an error message: %w", err)
}

// fits reports, as an error, that a result is not what the tool has declared.
func (t *tool) fits(r *words.Result) error {
	switch {
	case r == nil || t.output == nil:
		return nil
	case r.Structured == nil:
		return errors.New("the tool has an output schema, and its result has no structured content")
	}
	return t.output.ValidateValue(r.Structured)
}

// texts are all that a result says in words; numbers are as they came.
func texts(r *words.Result) []string {
	if r == nil {
		return nil
	}
	var out []string
	for _, c := range r.Content {
		switch c := c.(type) {
		case *words.Text:
			out = append(out, c.Text)
		case *words.Embedded:
			out = append(out, c.Text)
		}
	}
	for i := range out { // JSON as text is said twice: as it came and read
		if v, err := decode([]byte(out[i])); err == nil {
			out = spread(v, out)
		}
	}
	if v, err := decode(r.Structured); err == nil {
		out = spread(v, out)
	}
	return out
}

func spread(v any, out []string) []string {
	switch v := v.(type) {
	case string:
		return append(out, v)
	case json.Number:
		return append(out, v.String())
	case []any:
		for _, item := range v {
			out = spread(item, out)
		}
	case map[string]any:
		for key, item := range v {
			out = spread(item, append(out, key))
		}
	}
	return out
}

// says reports whether a result has a text in it.
func says(r *words.Result, text string) bool {
	for _, t := range texts(r) {
		if strings.Contains(t, text) {
			return true
		}
	}
	return false
}
