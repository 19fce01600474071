package main

import (
	"context"
	"strings"

	toolwharf "github.com/toolwharf/toolwharf/sdk/go"
)

// greetings is the plugin's state: connections, clients, caches would be here.
type greetings struct{ greeting string }

// greetIn are the arguments of greet; the host validates them by the schema that
// the types and tags say.
type greetIn struct {
	Name string `json:"name" jsonschema:"who is greeted"`
}

type greetOut struct {
	Text string `json:"text"`
}

// greet is a tool. Its context ends with the call's deadline, and when the caller
// cancels: pass it on to whatever takes time. Calls run at the same time.
func (g *greetings) greet(_ context.Context, in greetIn) (greetOut, error) {
	if strings.TrimSpace(in.Name) == "" {
		// The model reads this; any other error is a fault, told to the operator only.
		return greetOut{}, toolwharf.ToolError("nobody", "nobody has that name: give another")
	}
	return greetOut{Text: g.greeting + ", " + in.Name + "!"}, nil
}
