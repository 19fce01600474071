// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolwharf/toolwharf/sdk/go"
)

func addPrompts(p *toolwharf.Plugin[toolwharf.None]) {
	toolwharf.AddPromptFunc(p, "greet", greet, toolwharf.CompleteFunc("name", names),
		toolwharf.Description("Greet somebody."))
	toolwharf.AddPromptFunc(p, "converse", converse,
		toolwharf.Description("A conversation with a picture and a resource in it."))
	toolwharf.AddPromptFunc(p, "greet_after_asking", greetAfterAsking,
		toolwharf.Description("Ask the user for a colour, and greet in it."))
}

type greetArgs struct {
	Name string `json:"name" jsonschema:"who is greeted" min:"1"`
	Mood string `json:"mood" jsonschema:"how" enum:"warm,cool,formal" default:"warm"`
}

func greet(_ context.Context, in greetArgs) (string, error) {
	return fmt.Sprintf("Write a %s greeting for %s.", in.Mood, in.Name), nil
}

// manyNames are more than a client is given at once.
const manyNames = 150

func names(_ context.Context, c toolwharf.Completion) ([]string, error) {
	var list []string
	for i := range manyNames {
		if name := fmt.Sprintf("crew-%03d", i); strings.HasPrefix(name, c.Value) {
			list = append(list, name)
		}
	}
	return list, nil
}

func converse(ctx context.Context, _ struct{}) (toolwharf.PromptResult, error) {
	png, err := pixel(ctx)
	if err != nil {
		return toolwharf.PromptResult{}, err
	}
	return toolwharf.PromptResult{Description: "A short one.", Messages: []toolwharf.PromptMessage{
		toolwharf.User(toolwharf.Text("What is this?")),
		toolwharf.User(toolwharf.Image(png, "image/png")),
		toolwharf.Assistant(toolwharf.Text("A pixel. See also:")),
		toolwharf.Assistant(toolwharf.EmbedText("echo://about", "text/markdown", "# Echo\n")),
	}}, nil
}

func greetAfterAsking(ctx context.Context, _ struct{}) (string, error) {
	chosen, err := ask(ctx, struct{}{})
	if err != nil {
		return "", err
	}
	return "Write a greeting in " + chosen.Colour + ".", nil
}
