// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"

	"github.com/toolwharf/toolwharf/host/internal/adapter"
	"github.com/toolwharf/toolwharf/host/internal/tool"
	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// catalog is the plugin's catalogue in the host's words. Nothing is judged yet:
// adapter.Offers does that.
func catalog(c *pluginv1.Catalog) adapter.Catalog {
	var out adapter.Catalog
	// A JSON object that is none costs itself, not what it belongs to.
	lenient := func(kind, name, field string, raw []byte) json.RawMessage {
		o, err := object(raw)
		if err != nil {
			out.Notes = append(out.Notes, fmt.Sprintf("%s of %s %.128q left out: %v", field, kind, name, err))
		}
		return o
	}
	for _, t := range c.GetTools() {
		out.Tools = append(out.Tools, tool.Spec{
			Declared: t.GetName(), Title: t.GetTitle(), Description: t.GetDescription(),
			Input: t.GetInputSchema(), Output: t.GetOutputSchema(),
			Effects: effects(t.GetEffects()), Idempotent: t.GetIdempotent(), Confirm: t.Confirm,
			Lenient: t.GetLenientArgs(), OpenWorld: t.OpenWorld, Tags: t.GetTags(),
			Icons: icons(t.GetIcons()), Task: taskSupport(t.GetTaskSupport()),
			Meta:  lenient("tool", t.GetName(), "_meta", t.GetMeta()),
			Needs: lenient("tool", t.GetName(), "required_client_capabilities", t.GetRequiredClientCapabilities()),
		})
	}
	for _, r := range c.GetResources() {
		out.Resources = append(out.Resources, tool.Resource{
			URI: r.GetUri(), Name: r.GetName(), Title: r.GetTitle(), Description: r.GetDescription(), MIMEType: r.GetMimeType(),
			Size: r.Size, Annotations: annotations(r.GetAnnotations()), Icons: icons(r.GetIcons()),
			Meta: lenient("resource", r.GetUri(), "_meta", r.GetMeta()),
		})
	}
	for _, r := range c.GetResourceTemplates() {
		out.Families = append(out.Families, tool.Resource{
			URI: r.GetUriTemplate(), Name: r.GetName(), Title: r.GetTitle(), Description: r.GetDescription(), MIMEType: r.GetMimeType(),
			Annotations: annotations(r.GetAnnotations()), Icons: icons(r.GetIcons()),
			Meta: lenient("resource template", r.GetUriTemplate(), "_meta", r.GetMeta()),
		})
	}
	for _, p := range c.GetPrompts() {
		prompt := tool.Prompt{
			Name: p.GetName(), Title: p.GetTitle(), Description: p.GetDescription(), Icons: icons(p.GetIcons()),
			Meta: lenient("prompt", p.GetName(), "_meta", p.GetMeta()),
		}
		for _, a := range p.GetArguments() {
			prompt.Arguments = append(prompt.Arguments, tool.PromptArgument{
				Name: a.GetName(), Title: a.GetTitle(), Description: a.GetDescription(), Required: a.GetRequired(),
			})
		}
		out.Prompts = append(out.Prompts, prompt)
	}
	return out
}
