// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// request is an attempt as the plugin sees it.
func (in *instance) request(a *tool.Attempt) *pluginv1.CallToolRequest {
	return &pluginv1.CallToolRequest{
		Tool: a.Spec.Declared, Arguments: a.Args.Bytes(), State: a.State, Context: in.callContext(a), Answers: answers(a),
	}
}

func (in *instance) callContext(a *tool.Attempt) *pluginv1.CallContext {
	c := &pluginv1.CallContext{
		CallId: a.ID, Attempt: int32(a.N), RunId: a.RunID, //nolint:gosec // attempts are few
		ProtocolVersion: a.Client.Protocol, ClientCapabilities: a.Client.Capabilities,
		WantsProgress: a.Client.Progress && a.Events != nil, LogLevel: wanted(a.Client.LogLevel),
	}
	if in.passPrincipal {
		c.Principal = a.Principal.String()
	}
	return c
}

func answers(a *tool.Attempt) map[string][]byte {
	if len(a.Answers) == 0 {
		return nil
	}
	out := make(map[string][]byte, len(a.Answers))
	for k, v := range a.Answers {
		out[k] = v
	}
	return out
}

var levels = map[pluginv1.LogLevel]string{
	pluginv1.LogLevel_LOG_LEVEL_DEBUG:     "debug",
	pluginv1.LogLevel_LOG_LEVEL_INFO:      "info",
	pluginv1.LogLevel_LOG_LEVEL_NOTICE:    "notice",
	pluginv1.LogLevel_LOG_LEVEL_WARNING:   "warning",
	pluginv1.LogLevel_LOG_LEVEL_ERROR:     "error",
	pluginv1.LogLevel_LOG_LEVEL_CRITICAL:  "critical",
	pluginv1.LogLevel_LOG_LEVEL_ALERT:     "alert",
	pluginv1.LogLevel_LOG_LEVEL_EMERGENCY: "emergency",
}

func level(l pluginv1.LogLevel) string {
	if s, ok := levels[l]; ok {
		return s
	}
	return "info"
}

func wanted(name string) pluginv1.LogLevel {
	for l, s := range levels {
		if s == name {
			return l
		}
	}
	return pluginv1.LogLevel_LOG_LEVEL_UNSPECIFIED
}

func effects(e pluginv1.Effects) tool.Effects {
	switch e {
	case pluginv1.Effects_EFFECTS_READ_ONLY:
		return tool.ReadOnly
	case pluginv1.Effects_EFFECTS_ADDITIVE:
		return tool.Additive
	case pluginv1.Effects_EFFECTS_DESTRUCTIVE:
		return tool.Destructive
	case pluginv1.Effects_EFFECTS_UNSPECIFIED:
		return tool.EffectsUnset
	default: // of a later version
		return tool.EffectsUnset
	}
}

func taskSupport(s pluginv1.TaskSupport) tool.TaskSupport {
	switch s {
	case pluginv1.TaskSupport_TASK_SUPPORT_OPTIONAL:
		return tool.TaskOptional
	case pluginv1.TaskSupport_TASK_SUPPORT_REQUIRED:
		return tool.TaskRequired
	case pluginv1.TaskSupport_TASK_SUPPORT_UNSPECIFIED, pluginv1.TaskSupport_TASK_SUPPORT_NONE:
		return tool.TaskNone
	default: // of a later version
		return tool.TaskNone
	}
}

func icons(in []*pluginv1.Icon) []tool.Icon {
	var out []tool.Icon
	for _, i := range in {
		if strings.HasPrefix(i.GetSrc(), "https:") || strings.HasPrefix(i.GetSrc(), "data:") {
			out = append(out, tool.Icon{Src: i.GetSrc(), MIMEType: i.GetMimeType(), Sizes: i.GetSizes(), Theme: i.GetTheme()})
		}
	}
	return out
}

// object is one JSON object of a plugin, nil for none.
func object(raw []byte) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	j, err := tool.ParseJSON(raw)
	if err != nil {
		return nil, err
	}
	if bytes.TrimSpace(raw)[0] != '{' {
		return nil, errors.New("not an object")
	}
	return j.Bytes(), nil
}

// codeForm is what a stable code looks like.
var codeForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// maxErrorText bounds what a plugin may say to a model of a call that failed, in
// bytes: the bound of results does not hold for errors.
const maxErrorText = 16 << 10

// callError is what a plugin says of a call that did not succeed.
func callError(e *pluginv1.CallError) *tool.Error {
	out := &tool.Error{
		Code: e.GetCode(), Text: clipped(e.GetText(), maxErrorText), Detail: bounded(e.GetDetail()),
		Sent: true,
	}
	if !codeForm.MatchString(out.Code) {
		out.Code = ""
	}
	if e.GetRetryAfter() != nil {
		out.RetryAfter = max(e.GetRetryAfter().AsDuration(), 0)
	}
	switch e.GetRan() {
	case pluginv1.Ran_RAN_NO:
		out.Ran = tool.RanNo
	case pluginv1.Ran_RAN_YES:
		out.Ran = tool.RanYes
	case pluginv1.Ran_RAN_UNKNOWN:
		out.Ran = tool.RanUnknown
	case pluginv1.Ran_RAN_UNSPECIFIED:
	default: // of a later version
	}
	switch e.GetKind() {
	case pluginv1.ErrorKind_ERROR_KIND_ARGS_INVALID:
		out.Kind = tool.ArgsInvalid
	case pluginv1.ErrorKind_ERROR_KIND_DENIED:
		out.Kind = tool.Denied
	case pluginv1.ErrorKind_ERROR_KIND_TOOL_ERROR:
		out.Kind = tool.ToolError
	case pluginv1.ErrorKind_ERROR_KIND_TIMEOUT:
		out.Kind = tool.Timeout
	case pluginv1.ErrorKind_ERROR_KIND_CANCELLED:
		out.Kind = tool.Cancelled
	case pluginv1.ErrorKind_ERROR_KIND_RATE_LIMITED:
		out.Kind = tool.RateLimited
	case pluginv1.ErrorKind_ERROR_KIND_RESULT_TOO_LARGE:
		out.Kind = tool.ResultTooLarge
	case pluginv1.ErrorKind_ERROR_KIND_UNSPECIFIED, pluginv1.ErrorKind_ERROR_KIND_TOOL_FAILED:
		return failed(out)
	default: // of a later version
		return failed(out)
	}
	if out.Text == "" {
		out.Text = string(out.Kind)
	}
	return out
}

// failed is a fault: its text is the operator's, the model sees the class.
func failed(e *tool.Error) *tool.Error {
	class := e.Code
	if class == "" {
		class = "plugin"
	}
	if e.Text != "" {
		e.Detail = strings.TrimSuffix(bounded(e.Text)+": "+e.Detail, ": ")
	}
	e.Kind, e.Code, e.Text = tool.ToolFailed, class, "tool_failed: "+class
	return e
}

func protocolError(p *pluginv1.ProtocolError) *tool.Error {
	data := p.GetData()
	if len(data) > maxErrorText {
		data = nil
	}
	e := tool.Failed("protocol_error", &tool.ProtocolError{
		Code: p.GetCode(), Message: bounded(p.GetMessage()), Data: data,
	})
	e.Sent = true
	return e
}

func question(q *pluginv1.InputRequired) (*tool.Question, error) {
	out := &tool.Question{Requests: map[string]tool.InputRequest{}, State: q.GetState()}
	for key, r := range q.GetRequests() {
		params, err := object(r.GetParams())
		if err != nil {
			return nil, broken(fmt.Errorf("params of question %.64q: %w", key, err))
		}
		out.Requests[key] = tool.InputRequest{Method: r.GetMethod(), Params: params}
	}
	if len(out.Requests) == 0 && len(out.State) == 0 {
		return nil, broken(errors.New("a question without requests and without state"))
	}
	return out, nil
}
