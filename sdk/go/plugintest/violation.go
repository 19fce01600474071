// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugintest

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
	"github.com/toolwharf/toolwharf/sdk/go"
	"github.com/toolwharf/toolwharf/sdk/go/internal/schema"
	"github.com/toolwharf/toolwharf/sdk/go/internal/uritemplate"
)

var (
	pluginName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
	entryName  = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)
	errorCode  = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	features   = []string{"tools", "resources", "resource_subscriptions", "prompts", "completion", "hooks"}
)

// faults collects what the plugin may not say.
type faults []string

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// object: a place for one JSON object may also be empty.
func (f *faults) object(what string, data []byte) {
	var fields map[string]json.RawMessage
	if data != nil && (json.Unmarshal(data, &fields) != nil || fields == nil) {
		f.add("%s is not a JSON object", what)
	}
}

// fit judges a value by a schema as a host does; without one it is an empty object.
func fit(text, data []byte) error {
	if text == nil {
		text = []byte(`{"type":"object","additionalProperties":false}`)
	}
	s, err := schema.Parse(text, false)
	if err != nil {
		return err
	}
	return s.Validate(data)
}

func ofDescription(d *pluginv1.DescribeResponse) (f faults) {
	if !pluginName.MatchString(d.GetName()) {
		f.add("the name %q", d.GetName())
	}
	for i, name := range d.GetFeatures() {
		if !slices.Contains(features, name) || slices.Contains(d.GetFeatures()[:i], name) {
			f.add("the feature %q is unknown or twice there", name)
		}
	}
	if s := d.GetConfigSchema(); s != nil {
		if _, err := schema.Parse(s, true); err != nil {
			f.add("config_schema: %v", err)
		}
	}
	return f
}

func ofConfiguration(c *pluginv1.ConfigureResponse) (f faults) {
	for _, d := range c.GetDiagnostics() {
		if d.GetSummary() == "" || d.GetPointer() != "" && d.GetPointer()[0] != '/' {
			f.add("a diagnostic without a summary, or whose pointer is none: %v", d)
		}
	}
	for _, g := range c.GetGrants() {
		file := g.GetKind() == pluginv1.GrantKind_GRANT_KIND_READ || g.GetKind() == pluginv1.GrantKind_GRANT_KIND_WRITE
		if g.GetKind() == pluginv1.GrantKind_GRANT_KIND_UNSPECIFIED || g.GetValue() == "" || file && !filepath.IsAbs(g.GetValue()) {
			f.add("the grant %v", g)
		}
	}
	return f
}

func ofCatalog(c *pluginv1.Catalog, has []string, l toolwharf.Limits) (f faults) {
	needs := func(feature string, n int) {
		if n > 0 && !slices.Contains(has, feature) {
			f.add("the catalogue needs the feature %q, which Describe has not named", feature)
		}
	}
	needs("tools", len(c.GetTools()))
	needs("resources", len(c.GetResources())+len(c.GetResourceTemplates()))
	needs("prompts", len(c.GetPrompts()))
	if len(c.GetTools()) > l.MaxTools {
		f.add("%d tools are more than %d", len(c.GetTools()), l.MaxTools)
	}
	seen := map[string]bool{}
	once := func(what, name string, ok bool) {
		if !ok || seen[what+name] {
			f.add("the %s %q is misnamed or twice there", what, name)
		}
		seen[what+name] = true
	}
	for _, t := range c.GetTools() {
		once("tool", t.GetName(), entryName.MatchString(t.GetName()))
		f.object("meta of "+t.GetName(), t.GetMeta())
		f.object("required_client_capabilities of "+t.GetName(), t.GetRequiredClientCapabilities())
		for what, s := range map[string][]byte{"input_schema": t.GetInputSchema(), "output_schema": t.GetOutputSchema()} {
			if s == nil {
				continue
			}
			if _, err := schema.Parse(s, what == "input_schema"); err != nil || len(s) > 64<<10 {
				f.add("%s of %s: %d bytes, %v", what, t.GetName(), len(s), err)
			}
		}
	}
	for _, r := range c.GetResources() {
		once("resource", r.GetUri(), uritemplate.Absolute(r.GetUri()) == nil && r.GetName() != "")
		f.object("meta of "+r.GetUri(), r.GetMeta())
	}
	for _, r := range c.GetResourceTemplates() {
		once("template", r.GetUriTemplate(), r.GetUriTemplate() != "" && r.GetName() != "")
		f.object("meta of "+r.GetUriTemplate(), r.GetMeta())
	}
	for _, p := range c.GetPrompts() {
		once("prompt", p.GetName(), entryName.MatchString(p.GetName()))
		f.object("meta of "+p.GetName(), p.GetMeta())
		for _, a := range p.GetArguments() {
			once("argument of "+p.GetName(), a.GetName(), a.GetName() != "")
		}
	}
	return f
}

func ofProgress(c *pluginv1.CallContext, before []*pluginv1.Progress, p *pluginv1.Progress) (f faults) {
	if !c.GetWantsProgress() {
		f.add("progress that nobody wants")
	}
	if n := len(before); n > 0 && p.GetProgress() <= before[n-1].GetProgress() {
		f.add("progress that does not grow: %g after %g", p.GetProgress(), before[n-1].GetProgress())
	}
	if math.IsNaN(p.GetProgress()) || math.IsInf(p.GetProgress(), 0) || math.IsNaN(p.GetTotal()) || math.IsInf(p.GetTotal(), 0) {
		f.add("progress that is no number")
	}
	return f
}

func ofLog(c *pluginv1.CallContext, l *pluginv1.LogMessage) (f faults) {
	if want := c.GetLogLevel(); want == 0 || l.GetLevel() < want {
		f.add("a message of level %v, and the client wants %v", l.GetLevel(), want)
	}
	if !json.Valid(l.GetData()) {
		f.add("a message that is not JSON")
	}
	return f
}

func ofQuestion(q *pluginv1.InputRequired) (f faults) {
	if len(q.GetRequests()) == 0 && len(q.GetState()) == 0 || len(q.GetRequests()) > 16 || len(q.GetState()) > toolwharf.MaxState {
		f.add("%d questions and a state of %d bytes", len(q.GetRequests()), len(q.GetState()))
	}
	for key, r := range q.GetRequests() {
		if !slices.Contains([]string{"elicitation/create", "sampling/createMessage", "roots/list"}, r.GetMethod()) {
			f.add("the question %q is of the method %q", key, r.GetMethod())
		}
		f.object("params of the question "+key, r.GetParams())
	}
	return f
}

func ofError(e *pluginv1.CallError) (f faults) {
	if !errorCode.MatchString(e.GetCode()) {
		f.add("the code of an error is %q", e.GetCode())
	}
	if e.GetKind() == pluginv1.ErrorKind_ERROR_KIND_UNSPECIFIED {
		f.add("an error of no kind")
	}
	return f
}

func ofResult(r *pluginv1.ToolResult, t *pluginv1.Tool, l toolwharf.Limits) (f faults) {
	size := len(r.GetStructured())
	for _, c := range r.GetContent() {
		f = append(f, ofContent(c)...)
		size += len(c.GetText().GetText()) + len(c.GetImage().GetData()) + len(c.GetAudio().GetData()) +
			len(c.GetResource().GetText()) + len(c.GetResource().GetBlob())
	}
	if int64(size) > l.MaxResultBytes {
		f.add("a result of %d bytes, and the limit is %d", size, l.MaxResultBytes)
	}
	f.object("meta of the result", r.GetMeta())
	switch {
	case r.Structured != nil && !json.Valid(r.GetStructured()):
		f.add("structured content that is not JSON")
	case t.GetOutputSchema() == nil:
	case r.Structured == nil:
		f.add("no structured content, and the tool has an output schema")
	default:
		if err := fit(t.GetOutputSchema(), r.GetStructured()); err != nil {
			f.add("structured content that does not fit the output schema: %v", err)
		}
	}
	return f
}

func ofContent(c *pluginv1.Content) (f faults) {
	f.object("meta of a block", c.GetMeta())
	switch b := c.GetBlock().(type) {
	case *pluginv1.Content_Text:
	case *pluginv1.Content_Image:
		if b.Image.GetMimeType() == "" {
			f.add("a picture without a media type")
		}
	case *pluginv1.Content_Audio:
		if b.Audio.GetMimeType() == "" {
			f.add("a sound without a media type")
		}
	case *pluginv1.Content_ResourceLink:
		if uritemplate.Absolute(b.ResourceLink.GetUri()) != nil || b.ResourceLink.GetName() == "" {
			f.add("a link without an absolute URI or a name: %v", b.ResourceLink)
		}
	case *pluginv1.Content_Resource:
		f = append(f, ofResource(b.Resource)...)
	default:
		f.add("a block of no known kind")
	}
	return f
}

func ofResource(c *pluginv1.ResourceContents) (f faults) {
	if uritemplate.Absolute(c.GetUri()) != nil || c.GetContents() == nil {
		f.add("contents without an absolute URI, or with nothing in them: %q", c.GetUri())
	}
	f.object("meta of contents", c.GetMeta())
	return f
}

func ofContents(list []*pluginv1.ResourceContents, l toolwharf.Limits) (f faults) {
	size := 0
	for _, c := range list {
		f = append(f, ofResource(c)...)
		size += len(c.GetText()) + len(c.GetBlob())
	}
	if int64(size) > l.MaxResultBytes {
		f.add("contents of %d bytes, and the limit is %d", size, l.MaxResultBytes)
	}
	return f
}

func ofPrompt(p *pluginv1.GetPromptResult) (f faults) {
	f.object("meta of the prompt", p.GetMeta())
	for _, m := range p.GetMessages() {
		if m.GetRole() != "user" && m.GetRole() != "assistant" {
			f.add("a message of the role %q", m.GetRole())
		}
		f = append(f, ofContent(m.GetContent())...)
	}
	return f
}

func ofCompletion(c *pluginv1.CompleteResponse) (f faults) {
	if len(c.GetValues()) > 100 || c.Total != nil && int(c.GetTotal()) < len(c.GetValues()) {
		f.add("%d values of %d", len(c.GetValues()), c.GetTotal())
	}
	return f
}

func ofVerdict(v *Verdict) (f faults) {
	if v.Refusal != nil && !errorCode.MatchString(v.Refusal.GetCode()) {
		f.add("the code of a refusal is %q", v.Refusal.GetCode())
	}
	if v.Arguments != nil {
		f.object("the edited arguments", v.Arguments)
	}
	if v.Result != nil {
		for _, c := range v.Result.GetContent() {
			f = append(f, ofContent(c)...)
		}
		if v.Result.Structured != nil && !json.Valid(v.Result.GetStructured()) {
			f.add("structured content that is not JSON")
		}
	}
	return f
}
