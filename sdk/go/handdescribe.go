// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package toolwharf

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	pluginv1 "github.com/toolwharf/toolwharf/proto/toolwharf/plugin/v1"
)

// description is what `describe` prints. Its fields are those of the protocol's
// DescribeResponse and Catalog.
type description struct {
	Name         string          `json:"name"`
	Version      string          `json:"version"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	Features     []string        `json:"features"`
	ConfigSchema json.RawMessage `json:"config_schema,omitempty"`
	catalogDescription
}

type catalogDescription struct {
	Tools     []toolDescription     `json:"tools,omitempty"`
	Resources []resourceDescription `json:"resources,omitempty"`
	Templates []resourceDescription `json:"resource_templates,omitempty"`
	Prompts   []promptDescription   `json:"prompts,omitempty"`
}

type toolDescription struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	Effects      string          `json:"effects,omitempty"`
	Idempotent   bool            `json:"idempotent,omitempty"`
	Confirm      *bool           `json:"confirm,omitempty"`
	LenientArgs  bool            `json:"lenient_args,omitempty"`
	Tags         []string        `json:"tags,omitempty"`
}

// resourceDescription is a resource or a template: one of the first two is set.
type resourceDescription struct {
	URI         string `json:"uri,omitempty"`
	URITemplate string `json:"uri_template,omitempty"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mime_type,omitempty"`
	Size        *int64 `json:"size,omitempty"`
}

type promptDescription struct {
	Name        string                `json:"name"`
	Title       string                `json:"title,omitempty"`
	Description string                `json:"description,omitempty"`
	Arguments   []argumentDescription `json:"arguments,omitempty"`
}

type argumentDescription struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// describe prints the plugin, and what it offers where the configuration, or none,
// is enough to know that. A configuration is opened only where it may bring
// something.
func (h *hand) describe(config *string) int {
	c := h.core
	d := c.describe()
	out := description{
		Name: d.GetName(), Version: d.GetVersion(), Title: d.GetTitle(), Description: d.GetDescription(),
		Features: append([]string{}, d.GetFeatures()...), ConfigSchema: d.GetConfigSchema(),
	}
	ctx := context.Background()
	switch {
	case len(c.offers) > 0 && (config != nil || !c.needsConfig()):
		used, closing, ok := h.open(ctx, config)
		if !ok {
			return 1
		}
		out.catalogDescription = describeCatalog(used.live.now.Load().wire())
		closing()
	case config != nil:
		data, err := h.configFor(config)
		if err != nil {
			return h.failed(err)
		}
		resp, _ := c.configure(ctx, h.logger(), data, Adapter{}, newLive(c, new(watched)), true)
		if !h.accepted(resp) {
			return 1
		}
		fallthrough
	case !c.needsConfig():
		out.catalogDescription = describeCatalog(c.base.wire())
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return h.failed(err)
	}
	fmt.Fprintf(h.out, "%s\n", text)
	return 0
}

func describeCatalog(c *pluginv1.Catalog) (out catalogDescription) {
	for _, t := range c.GetTools() {
		out.Tools = append(out.Tools, describeTool(t))
	}
	for _, r := range c.GetResources() {
		out.Resources = append(out.Resources, resourceDescription{
			URI: r.GetUri(), Name: r.GetName(), Title: r.GetTitle(), Description: r.GetDescription(), MIMEType: r.GetMimeType(),
			Size: r.Size,
		})
	}
	for _, r := range c.GetResourceTemplates() {
		out.Templates = append(out.Templates, resourceDescription{
			URITemplate: r.GetUriTemplate(), Name: r.GetName(), Title: r.GetTitle(), Description: r.GetDescription(), MIMEType: r.GetMimeType(),
		})
	}
	for _, p := range c.GetPrompts() {
		d := promptDescription{Name: p.GetName(), Title: p.GetTitle(), Description: p.GetDescription()}
		for _, a := range p.GetArguments() {
			d.Arguments = append(d.Arguments, argumentDescription{a.GetName(), a.GetDescription(), a.GetRequired()})
		}
		out.Prompts = append(out.Prompts, d)
	}
	return out
}

func describeTool(t *pluginv1.Tool) toolDescription {
	return toolDescription{
		Name: t.GetName(), Title: t.GetTitle(), Description: t.GetDescription(),
		InputSchema: t.GetInputSchema(), OutputSchema: t.GetOutputSchema(),
		Effects: effectsName(t.GetEffects()), Idempotent: t.GetIdempotent(), Confirm: t.Confirm,
		LenientArgs: t.GetLenientArgs(), Tags: t.GetTags(),
	}
}

func effectsName(e pluginv1.Effects) string {
	switch e {
	case pluginv1.Effects_EFFECTS_READ_ONLY:
		return "read_only"
	case pluginv1.Effects_EFFECTS_ADDITIVE:
		return "additive"
	case pluginv1.Effects_EFFECTS_DESTRUCTIVE:
		return "destructive"
	default:
		return ""
	}
}

// accepted prints the remarks about a configuration and says whether it is
// accepted.
func (h *hand) accepted(resp *pluginv1.ConfigureResponse) bool {
	ok := true
	for _, d := range resp.GetDiagnostics() {
		word := "warning"
		if d.GetSeverity() != pluginv1.Severity_SEVERITY_WARNING {
			word, ok = "error", false
		}
		fault := ConfigError{Pointer: d.GetPointer(), Summary: d.GetSummary(), Detail: d.GetDetail()}
		fmt.Fprintf(h.err, "%s: config: %s: %v\n", h.core.info.Name, word, &fault)
	}
	return ok
}

// logger writes for people.
func (h *hand) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(h.err, &slog.HandlerOptions{Level: slog.LevelDebug}))
}
