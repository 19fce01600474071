// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"strings"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
	"github.com/toolwharf/toolwharf/sdk/go"
)

// Reading is what reading a resource came to.
type Reading struct {
	Ending
	// Contents are all of them, parts included; nil: there are none.
	Contents []*pluginv1.ResourceContents
	// Parts is how many of them came before the end.
	Parts int
}

// Text is that of the contents, one after the other.
func (r *Reading) Text() string {
	var text strings.Builder
	for _, c := range r.Contents {
		text.WriteString(c.GetText())
	}
	return text.String()
}

// Read reads a resource.
func (h *Host) Read(uri string, opts ...CallOption) *Reading {
	h.tb.Helper()
	h.need(toolwharf.FeatureResources)
	out := new(Reading)
	c := h.call(opts)
	rounds(h, c, &out.Ending, func(answers map[string][]byte, state []byte) {
		stream, err := h.resources.ReadResource(c.ctx, &pluginv1.ReadResourceRequest{
			Uri: uri, Context: c.about, Answers: answers, State: state,
		})
		gather(h, "ReadResource "+uri, c, &out.Ending, stream, err, func(m *pluginv1.ReadResourceResponse) said {
			switch m := m.GetMessage().(type) {
			case *pluginv1.ReadResourceResponse_Progress:
				return said{progress: m.Progress}
			case *pluginv1.ReadResourceResponse_Log:
				return said{log: m.Log}
			case *pluginv1.ReadResourceResponse_Part:
				out.Parts++
				out.Contents = append(out.Contents, m.Part)
				return said{part: true}
			case *pluginv1.ReadResourceResponse_Result:
				out.Contents = append(out.Contents, m.Result.GetContents()...)
				return said{end: true}
			case *pluginv1.ReadResourceResponse_InputRequired:
				return said{question: m.InputRequired}
			case *pluginv1.ReadResourceResponse_Error:
				return said{err: m.Error}
			case *pluginv1.ReadResourceResponse_ProtocolError:
				return said{protocol: m.ProtocolError}
			}
			return said{}
		})
	})
	h.violated("ReadResource "+uri, ofContents(out.Contents, h.limits))
	return out
}

// Prompted is what making a prompt came to.
type Prompted struct {
	Ending
	// Result is the prompt; nil: there is none.
	Result *pluginv1.GetPromptResult
}

// Text is that of the messages, a line each, after their role: "user: Write ...".
func (p *Prompted) Text() string {
	var texts []string
	for _, m := range p.Result.GetMessages() {
		if m.GetContent().GetText() != nil {
			texts = append(texts, m.GetRole()+": "+m.GetContent().GetText().GetText())
		}
	}
	return strings.Join(texts, "\n")
}

// Prompt makes a prompt.
func (h *Host) Prompt(name string, args map[string]string, opts ...CallOption) *Prompted {
	h.tb.Helper()
	h.need(toolwharf.FeaturePrompts)
	out := new(Prompted)
	c := h.call(opts)
	rounds(h, c, &out.Ending, func(answers map[string][]byte, state []byte) {
		stream, err := h.prompts.GetPrompt(c.ctx, &pluginv1.GetPromptRequest{
			Name: name, Arguments: args, Context: c.about, Answers: answers, State: state,
		})
		gather(h, "GetPrompt "+name, c, &out.Ending, stream, err, func(m *pluginv1.GetPromptResponse) said {
			switch m := m.GetMessage().(type) {
			case *pluginv1.GetPromptResponse_Progress:
				return said{progress: m.Progress}
			case *pluginv1.GetPromptResponse_Log:
				return said{log: m.Log}
			case *pluginv1.GetPromptResponse_Result:
				out.Result = m.Result
				return said{end: true}
			case *pluginv1.GetPromptResponse_InputRequired:
				return said{question: m.InputRequired}
			case *pluginv1.GetPromptResponse_Error:
				return said{err: m.Error}
			case *pluginv1.GetPromptResponse_ProtocolError:
				return said{protocol: m.ProtocolError}
			}
			return said{}
		})
	})
	if out.Result != nil {
		h.violated("GetPrompt "+name, ofPrompt(out.Result))
	}
	return out
}

// CompletePrompt asks for values of an argument of a prompt; resolved are those that
// have one already.
func (h *Host) CompletePrompt(prompt, argument, value string, resolved map[string]string) *pluginv1.CompleteResponse {
	h.tb.Helper()
	return h.complete(&pluginv1.CompleteRequest{
		Reference: &pluginv1.CompleteRequest_Prompt{Prompt: prompt}, Argument: argument, Value: value, Resolved: resolved,
	})
}

// CompleteTemplate asks for values of a variable of a template.
func (h *Host) CompleteTemplate(template, variable, value string, resolved map[string]string) *pluginv1.CompleteResponse {
	h.tb.Helper()
	return h.complete(&pluginv1.CompleteRequest{
		Reference: &pluginv1.CompleteRequest_UriTemplate{UriTemplate: template}, Argument: variable, Value: value, Resolved: resolved,
	})
}

func (h *Host) complete(req *pluginv1.CompleteRequest) *pluginv1.CompleteResponse {
	h.tb.Helper()
	h.need(toolwharf.FeatureCompletion)
	c := h.call(nil)
	req.Context = c.about
	resp, err := h.completions.Complete(c.ctx, req)
	if err != nil {
		h.tb.Fatalf("Complete %s: %v", req.GetArgument(), err)
	}
	h.violated("Complete "+req.GetArgument(), ofCompletion(resp))
	return resp
}

// Verdict is what a hook says of a call.
type Verdict struct {
	// Refusal is why not; nil: it is not refused.
	Refusal *pluginv1.Refusal
	// Arguments are those that the hook puts in; nil: they stay.
	Arguments json.RawMessage
	// Result is what the hook puts in; nil: it stays.
	Result *pluginv1.ToolResult
}

// Passed says that the hook has nothing to say.
func (v *Verdict) Passed() bool { return v.Refusal == nil && v.Arguments == nil && v.Result == nil }

// Before asks the hook that stands before a tool of another adapter.
func (h *Host) Before(adapter, tool string, args any, opts ...CallOption) *Verdict {
	h.tb.Helper()
	h.need(toolwharf.FeatureHooks)
	c := h.call(opts)
	resp, err := h.hooks.BeforeTool(c.ctx, &pluginv1.BeforeToolRequest{
		Tool: tool, Adapter: adapter, Arguments: h.json(args), Context: c.about,
	})
	if err != nil {
		h.tb.Fatalf("BeforeTool %s: %v", tool, err)
	}
	v := &Verdict{Refusal: resp.GetRefusal(), Arguments: resp.GetEditedArguments()}
	h.violated("BeforeTool "+tool, ofVerdict(v))
	return v
}

// After asks the hook that stands after it.
func (h *Host) After(adapter, tool string, args any, result *pluginv1.ToolResult, opts ...CallOption) *Verdict {
	h.tb.Helper()
	h.need(toolwharf.FeatureHooks)
	c := h.call(opts)
	resp, err := h.hooks.AfterTool(c.ctx, &pluginv1.AfterToolRequest{
		Tool: tool, Adapter: adapter, Arguments: h.json(args), Result: result, Context: c.about,
	})
	if err != nil {
		h.tb.Fatalf("AfterTool %s: %v", tool, err)
	}
	v := &Verdict{Refusal: resp.GetRefusal(), Result: resp.GetEditedResult()}
	h.violated("AfterTool "+tool, ofVerdict(v))
	return v
}

// TextResult is a result of one text block, for [Host.After].
func TextResult(text string) *pluginv1.ToolResult {
	return &pluginv1.ToolResult{Content: []*pluginv1.Content{
		{Block: &pluginv1.Content_Text{Text: &pluginv1.TextContent{Text: text}}},
	}}
}

// StructuredResult is a result that is a JSON value, for [Host.After].
func StructuredResult(value json.RawMessage) *pluginv1.ToolResult {
	return &pluginv1.ToolResult{Structured: value}
}
