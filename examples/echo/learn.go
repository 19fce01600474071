// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/toolwharf/toolwharf/sdk/go"
)

// addLearn adds tools that change what the plugin offers.
func addLearn(p *toolwharf.Plugin[toolwharf.None]) {
	toolwharf.AddFunc(p, "learn", learn, toolwharf.Additive(),
		toolwharf.Description("Offer a new tool, resource or prompt of that name, which says the text, until the process ends."))
	toolwharf.AddFunc(p, "unlearn", unlearn, toolwharf.Destructive(),
		toolwharf.Description("No longer offer the tool, resource or prompt of that name, a learned one or not."))
}

type learnIn struct {
	Kind string `json:"kind" enum:"tool,resource,prompt" default:"tool"`
	Name string `json:"name" min:"1" max:"64"`
	Text string `json:"text"`
}

type unlearnIn struct {
	Kind string `json:"kind" enum:"tool,resource,prompt" default:"tool"`
	Name string `json:"name" min:"1" max:"64"`
}

func (in learnIn) say(context.Context, struct{}) (string, error) { return in.Text, nil }

func learnedURI(name string) string { return "echo://learned/" + name }

func learn(ctx context.Context, in learnIn) (struct{}, error) {
	return struct{}{}, change(ctx, func(c *toolwharf.Changes[toolwharf.None]) {
		switch in.Kind {
		case "resource":
			toolwharf.AddResourceFunc(c, learnedURI(in.Name), in.Name,
				func(ctx context.Context) (string, error) { return in.say(ctx, struct{}{}) })
		case "prompt":
			toolwharf.AddPromptFunc(c, in.Name, in.say)
		default:
			toolwharf.AddFunc(c, in.Name, in.say, toolwharf.ReadOnly())
		}
	})
}

func unlearn(ctx context.Context, in unlearnIn) (struct{}, error) {
	return struct{}{}, change(ctx, func(c *toolwharf.Changes[toolwharf.None]) {
		switch in.Kind {
		case "resource":
			c.RemoveResource(learnedURI(in.Name))
		case "prompt":
			c.RemovePrompt(in.Name)
		default:
			c.RemoveTool(in.Name)
		}
	})
}

func change(ctx context.Context, f func(*toolwharf.Changes[toolwharf.None])) error {
	if err := toolwharf.CatalogOf[toolwharf.None](ctx).Change(f); err != nil {
		return toolwharf.Invalid("not_learned", err.Error())
	}
	return nil
}
