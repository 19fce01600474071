// Copyright The Toolwharf Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"

	"github.com/toolwharf/toolwharf/sdk/go"
)

// addFlood adds a tool that says more than anybody wants to hear.
func addFlood(p *toolwharf.Plugin[toolwharf.None]) {
	toolwharf.AddFunc(p, "flood", flood, toolwharf.ReadOnly(),
		toolwharf.Description("Say something that often: to the client, to the operator, or to whoever watches. What the SDK paces, arrives paced; lines to stderr do not."))
}

type floodIn struct {
	Kind  string `json:"kind" enum:"log,progress,watch,stderr"`
	Count int    `json:"count" min:"1" max:"1000000" default:"1000"`
}

type floodOut struct {
	Said int `json:"said"`
}

func flood(ctx context.Context, in floodIn) (floodOut, error) {
	offered := toolwharf.CatalogOf[toolwharf.None](ctx)
	for i := range in.Count {
		if err := ctx.Err(); err != nil {
			return floodOut{i}, err
		}
		switch in.Kind {
		case "log":
			toolwharf.Notify(ctx, toolwharf.LevelInfo, fmt.Sprintf("message %d", i))
		case "progress":
			toolwharf.Progress(ctx, float64(i), 0, "flooding")
		case "watch":
			offered.ResourceUpdated(notesURI)
			offered.Warn(fmt.Sprintf("flood %d", i))
		default:
			fmt.Fprintf(os.Stderr, "flood %d\n", i)
		}
	}
	return floodOut{in.Count}, nil
}
