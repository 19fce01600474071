// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/toolwharf/toolwharf/sdk/go"
)

func addAsk(p *toolwharf.Plugin[toolwharf.None]) {
	toolwharf.AddFunc(p, "ask", ask, toolwharf.ReadOnly(), toolwharf.Asks(askColour()),
		toolwharf.Description("Ask the user for a colour and return it."))
	toolwharf.AddFunc(p, "ask_twice", askTwice, toolwharf.ReadOnly(), toolwharf.Asks(askColour(), askSize()),
		toolwharf.Description("Ask the user for a colour, then for a size, and return both."))
	toolwharf.AddFunc(p, "ask_forever", askForever, toolwharf.ReadOnly(), toolwharf.Asks(askAgain(1)),
		toolwharf.Description("Ask the user, whatever the answer is, until the host has had enough."))
	toolwharf.AddFunc(p, "ask_secret", askSecret, toolwharf.ReadOnly(), toolwharf.Asks(askPassword()),
		toolwharf.Description("Ask the user for a password, which hosts refuse to pass on."))
	toolwharf.AddFunc(p, "ask_page", askPage, toolwharf.ReadOnly(), toolwharf.Asks(askToOpen("")),
		toolwharf.Description("Ask the user to open a page, which hosts pass on where allow_urls permits it."))
}

type colour struct {
	Colour string `json:"colour" jsonschema:"the one that you like best" enum:"red,green,blue"`
}

type size struct {
	Size int64 `json:"size" jsonschema:"any whole number"`
}

type again struct {
	Again bool `json:"again,omitempty"`
}

func askColour() toolwharf.InputRequest { return toolwharf.Form[colour]("colour", "Which colour?") }

func askSize() toolwharf.InputRequest { return toolwharf.Form[size]("size", "Which size?") }

func askAgain(round int) toolwharf.InputRequest {
	return toolwharf.Form[again]("again", fmt.Sprintf("Once more? This is round %d.", round))
}

// askPassword is written by hand: Form would refuse it.
func askPassword() toolwharf.InputRequest {
	return toolwharf.Request("login", "elicitation/create", map[string]any{
		"mode": "form", "message": "Please log in.",
		"requestedSchema": map[string]any{
			"type": "object", "properties": map[string]any{"password": map[string]any{"type": "string"}}, "required": []string{"password"},
		},
	})
}

func ask(ctx context.Context, _ struct{}) (colour, error) {
	answer, action, ok := toolwharf.Answer[colour](ctx, "colour")
	switch {
	case !ok:
		return colour{}, toolwharf.Ask(askColour())
	case action != toolwharf.ActionAccept:
		return colour{}, declined("a colour")
	}
	return answer, nil
}

type bothOut struct {
	Colour string `json:"colour"`
	Size   int64  `json:"size"`
}

// askTwice is called three times: the state says that the first answer is known.
func askTwice(ctx context.Context, _ struct{}) (bothOut, error) {
	var known colour
	if !toolwharf.RoundState(ctx, &known) {
		var err error
		if known, err = ask(ctx, struct{}{}); err != nil {
			return bothOut{}, err
		}
	}
	answer, action, ok := toolwharf.Answer[size](ctx, "size")
	switch {
	case !ok:
		return bothOut{}, toolwharf.Ask(askSize()).State(known)
	case action != toolwharf.ActionAccept:
		return bothOut{}, declined("a size")
	}
	return bothOut{known.Colour, answer.Size}, nil
}

func askForever(ctx context.Context, _ struct{}) (struct{}, error) {
	round := 1
	toolwharf.RoundState(ctx, &round)
	return struct{}{}, toolwharf.Ask(askAgain(round)).State(round + 1)
}

func askSecret(context.Context, struct{}) (struct{}, error) {
	return struct{}{}, toolwharf.Ask(askPassword())
}

type pageIn struct {
	URL string `json:"url" jsonschema:"of the page"`
}

type pageOut struct {
	Opened bool `json:"opened"`
}

func askToOpen(url string) toolwharf.InputRequest {
	return toolwharf.Request("page", "elicitation/create", map[string]any{
		"mode": "url", "message": "Please have a look at this page.", "url": url,
	})
}

func askPage(ctx context.Context, in pageIn) (pageOut, error) {
	answer, ok := toolwharf.Response[struct{ Action toolwharf.Action }](ctx, "page")
	if !ok {
		return pageOut{}, toolwharf.Ask(askToOpen(in.URL))
	}
	return pageOut{answer.Action == toolwharf.ActionAccept}, nil
}

func declined(what string) error {
	return toolwharf.ToolError("declined", "the user did not choose "+what)
}
